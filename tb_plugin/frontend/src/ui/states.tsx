// What stands where data is not, or not yet.

import type { ComponentChildren, JSX } from "preact";
import type { Loaded } from "../resource";

export function Working({ title, detail }: { title: string; detail?: string }): JSX.Element {
  return (
    <div class="state" role="status">
      <div class="progress" aria-hidden="true" />
      <p class="state-title">{title}</p>
      {detail && <p class="state-detail">{detail}</p>}
    </div>
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
      />
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
