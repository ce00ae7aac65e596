// The Timeline tab: toolbar, minimap, lanes with their names, and the panel about the selection.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Help } from "../timeline/help";
import { Lanes } from "../timeline/lanes";
import { timeline } from "../timeline/model";
import { Minimap } from "../timeline/minimap-view";
import { Panel } from "../timeline/panel";
import { Toolbar } from "../timeline/toolbar";
import { Absent, Await } from "../ui/states";

export function TimelineTab(): JSX.Element {
  const [help, setHelp] = useState(false);
  useEffect(() => {
    timeline.start();
    return () => timeline.stop();
  }, []);
  return (
    <div class="timeline">
      <Await of={timeline.source.now.value} what="the timeline">
        {(answer) =>
          answer.lanes.length === 0 ? (
            <Absent>This worker has recorded no events yet.</Absent>
          ) : (
            <>
              <Toolbar onHelp={() => setHelp(true)} />
              <Minimap />
              <Lanes onHelp={() => setHelp(true)} />
              <Panel />
            </>
          )
        }
      </Await>
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}
