// What stands where data is not, or not yet.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { post } from "../api";
import { isWhole, shown } from "../data";
import { sentence, type Loaded } from "../resource";

export function Working(props: { title: string; detail?: string; children?: ComponentChildren }): JSX.Element {
  const { title, detail } = props;
  return (
    <div class="state" role="status">
      <div class="progress" aria-hidden="true" />
      <p class="state-title">{title}</p>
      {detail && <p class="state-detail">{detail}</p>}
      {props.children}
    </div>
  );
}

/** Cancels the import of the shown worker, or what sums up all workers; or begins it anew. */
function ImportButton({ wanted }: { wanted: boolean }): JSX.Element {
  const [problem, setProblem] = useState("");
  const [asked, setAsked] = useState(false);
  const ask = async () => {
    const { run, worker } = shown.peek();
    setProblem("");
    setAsked(true);
    try {
      await post("control/import", { run: run?.id, worker: isWhole.peek() ? null : worker?.id, wanted });
    } catch (error) {
      setProblem(sentence(error));
      setAsked(false);
    }
  };
  return (
    <>
      <button type="button" class="text-button" disabled={asked} onClick={() => void ask()} data-testid="import-button">
        {wanted ? "Import again" : asked ? "Cancelling …" : "Cancel"}
      </button>
      {problem && (
        <p class="state-detail" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

export function Problem({ title, detail, quiet }: { title: string; detail: string; quiet?: boolean }): JSX.Element {
  return (
    <div class={`state ${quiet ? "" : "bad"}`} role={quiet ? "status" : "alert"} data-testid="problem">
      <p class="state-title">{title}</p>
      <p class="state-detail">{detail}</p>
    </div>
  );
}

/** The children once there is a value; before that, what is going on. A later failure shows beside the old value. */
export function Await<T>(props: {
  of: Loaded<T>;
  what: string;
  first?: string; // what goes on where it takes long the first time
  children: (value: T) => ComponentChildren;
}): JSX.Element {
  const { of, what } = props;
  if (of.value !== null) {
    return (
      <>
        {of.state === "error" && (
          <p class="banner warn" role="status">
            {capital(what)} could not be refreshed: {of.detail}
          </p>
        )}
        {props.children(of.value)}
      </>
    );
  }
  if (of.state === "importing") {
    return (
      <Working
        title={props.first ?? "Reading the trace for the first time"}
        detail={of.detail || "The next time it opens at once."}
      >
        {of.canCancel && <ImportButton wanted={false} />}
      </Working>
    );
  }
  if (of.state === "cancelled") {
    return (
      <div class="state" role="status" data-testid="import-cancelled">
        <p class="state-title">{of.detail}</p>
        <p class="state-detail">Nothing half-read was kept.</p>
        <ImportButton wanted />
      </div>
    );
  }
  if (of.state === "error") return <Problem title={`${capital(what)} could not be loaded`} detail={of.detail} />;
  return <Working title={`Loading ${what}`} />;
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** A part of a page for which there is no data, and why. */
export function Absent({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="absent">{children}</p>;
}
