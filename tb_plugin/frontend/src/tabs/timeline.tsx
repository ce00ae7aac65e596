// The Timeline tab: toolbar, minimap, lanes with their names, and the panel about the selection.

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { shown } from "../data";
import { Help } from "../timeline/help";
import type { KeyTargets } from "../timeline/input";
import { FILTER_FIELD } from "../timeline/lane-filter";
import { Lanes, namesWidth } from "../timeline/lanes";
import { timeline } from "../timeline/model";
import { Minimap } from "../timeline/minimap-view";
import { Panel } from "../timeline/panel";
import { SEARCH_FIELD } from "../timeline/search-box";
import { STEP_FIELD, Toolbar } from "../timeline/toolbar";
import { Await } from "../ui/states";

const FIELDS = { search: SEARCH_FIELD, step: STEP_FIELD, filter: FILTER_FIELD };

export function TimelineTab(): JSX.Element {
  const [help, setHelp] = useState(false);
  const [exporting, setExporting] = useState(false);
  const targets = useMemo<KeyTargets>(
    () => ({
      help: () => setHelp(true),
      focus: (field) => {
        if (field === "export") setExporting(true);
        else document.getElementById(FIELDS[field])?.focus();
      },
    }),
    [],
  );
  useLayoutEffect(() => {
    timeline.start();
    return () => timeline.stop();
  }, []);
  return (
    <div class="timeline" style={{ "--labels": `${namesWidth()}px` }}>
      <Await of={timeline.source.now.value} what="the timeline">
        {(answer) =>
          answer.lanes.length === 0 ? (
            <div class="state" data-testid="no-events">
              {shown.value.worker?.source === "recording" ? (
                <>
                  <p class="state-title">No events yet</p>
                  <p class="state-detail">
                    Steps and phases appear here once the training runs, operators and kernels with the first deep
                    window.
                  </p>
                </>
              ) : (
                <>
                  <p class="state-title">The file holds no events</p>
                  <p class="state-detail">
                    Nothing ran while it was recorded, or its events were lost: record it again. The Data tab tells what
                    was found in it.
                  </p>
                </>
              )}
            </div>
          ) : (
            <>
              <Toolbar onHelp={targets.help} exporting={exporting} onExport={setExporting} />
              <Minimap />
              <Lanes targets={targets} />
              <Panel />
            </>
          )
        }
      </Await>
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}
