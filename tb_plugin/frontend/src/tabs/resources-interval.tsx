// How often the monitor samples; of a running job it can be changed from here.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { post } from "../api";
import { follow, useMayAsk } from "../asking";
import { isLive, shown } from "../data";
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
  const isOffered = useMayAsk(worker !== null && worker.live && worker.source === "recording");
  const told = useSignal("");
  const awaited = useSignal<number | null>(null); // what the monitor has taken and no samples show yet
  const latest = answer.latest_interval_ms;
  useEffect(() => {
    if (awaited.value === null || latest === null || !isSame(awaited.value, latest)) return;
    awaited.value = null;
    told.value = "";
  }, [latest]);
  const change = async (interval_ms: number) => {
    if (!run || !worker) return;
    told.value = "Asking the monitor …";
    awaited.value = null;
    try {
      const asked = await post<{ request: string }>("control/interval", {
        run: run.id,
        worker: worker.id,
        interval_ms,
      });
      const isOver = await follow(run.id, asked.request, PATIENCE_MS, ([said]) => {
        if (said?.state === "done") {
          told.value = `Samples come ${every(interval_ms)} from now on.`;
          awaited.value = interval_ms;
        } else if (said) told.value = said.detail || `The change was ${said.state}.`;
        return said !== undefined;
      });
      if (!isOver) told.value = "The job did not answer in a minute.";
    } catch (error) {
      told.value = sentence(error);
    }
  };
  const text = sampledText(answer, isLive.value);
  return (
    <>
      {isOffered ? (
        <Menu
          label="Change how often the monitor of the running job samples"
          kind="text-button"
          testId="sampled"
          note={() => "From now on, beside the training. What has been sampled stays."}
          items={() => INTERVALS_MS.map((ms) => ({ label: every(ms), act: () => void change(ms) }))}
        >
          {text || "sampling"}
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
