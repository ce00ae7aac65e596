// How often the monitor samples; of a running job it can be changed from here.

import { useSignal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { post } from "../api";
import { follow, useMayAsk } from "../asking";
import { isLive, shown } from "../data";
import { plural } from "../format";
import { sentence } from "../resource";
import type { ResourceCurves } from "../time/requests";
import { every, isSame, sampledText } from "../time/sampled";
import { Icon } from "../ui/icons";
import { Menu } from "../ui/menu";

const INTERVALS_MS = [100, 200, 500, 1000, 5000, 60_000];
/** As long as the request can be taken up. */
const PATIENCE_MS = 60_000;

export function Sampled({ answer }: { answer: ResourceCurves }): JSX.Element {
  const { run, worker } = shown.value;
  const awaited = useSignal<number | null>(null); // what the monitor has taken and no samples show yet
  const told = useSignal("");
  const latest = answer.latest_interval_ms;
  useEffect(() => {
    if (awaited.value === null || latest === null || !isSame(awaited.value, latest)) return;
    awaited.value = null;
    told.value = "";
  }, [latest]);
  return (
    <Interval
      run={run?.id}
      worker={worker?.id}
      isLive={worker !== null && worker.live && worker.source === "recording"}
      text={sampledText(answer, isLive.value)}
      told={told}
      onAsk={() => (awaited.value = null)}
      onTaken={(interval_ms) => (awaited.value = interval_ms)}
    />
  );
}

/** The same of all workers of a run that are alive. */
export function RunSampled(): JSX.Element {
  const { run } = shown.value;
  const told = useSignal("");
  const live = run?.workers.filter((worker) => worker.live && worker.source === "recording") ?? [];
  return <Interval run={run?.id} worker={null} isLive={live.length > 0} text="" told={told} />;
}

function Interval(props: {
  run: string | undefined;
  worker: string | null | undefined; // null: all that are alive
  isLive: boolean;
  text: string;
  told: Signal<string>;
  onAsk?: () => void;
  onTaken?: (interval_ms: number) => void;
}): JSX.Element {
  const { run, worker, text, told } = props;
  const isOffered = useMayAsk(props.isLive);
  const latest = useRef({}); // what was asked for before says nothing any more
  const change = async (interval_ms: number) => {
    if (run === undefined || worker === undefined) return;
    const mine = (latest.current = {});
    told.value = worker === null ? "Asking the monitors …" : "Asking the monitor …";
    props.onAsk?.();
    try {
      const body = { run, worker, interval_ms };
      const asked = await post<{ request: string; workers: string[] }>("control/interval", body);
      const isOver = await follow(run, asked.request, PATIENCE_MS, (said) => {
        if (latest.current !== mine) return true;
        const taken = said.filter(({ state }) => state === "done").length;
        const other = said.find(({ state }) => state !== "done");
        if (taken > 0) props.onTaken?.(interval_ms);
        // Of the workers of a host one has a monitor; the others refuse.
        const of = worker === null ? ` by ${plural(taken, "monitor")}` : "";
        if (taken > 0) told.value = `Samples come ${every(interval_ms)} from now on${of}.`;
        else if (other) told.value = other.detail || `The change was ${other.state}.`;
        return said.length >= asked.workers.length;
      });
      if (!isOver) told.value = "Not all of the job answered in a minute.";
    } catch (error) {
      if (latest.current === mine) told.value = sentence(error);
    }
  };
  return (
    <>
      {isOffered ? (
        <Menu
          label={`Change how often the ${worker === null ? "monitors" : "monitor"} of the running job ${worker === null ? "sample" : "samples"}`}
          kind="text-button"
          testId="sampled"
          note={() => "From now on, beside the training. What has been sampled stays."}
          items={() => INTERVALS_MS.map((ms) => ({ label: every(ms), act: () => void change(ms) }))}
        >
          {text || "sampling interval"}
          <Icon shape="chevron" />
        </Menu>
      ) : (
        <span class="faint" data-testid="sampled">
          {text}
        </span>
      )}
      <span class="faint" role="status" data-testid="interval-told">
        {told.value}
      </span>
    </>
  );
}
