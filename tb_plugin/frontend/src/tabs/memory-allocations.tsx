// Every allocation of the deep windows as a row, or in groups: the table of the Tables tab, within the interval on show.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { getSlice } from "../api";
import { key } from "../data";
import { DEFINITIONS } from "../definitions";
import { here } from "../here";
import { answered, sentence } from "../resource";
import { adjust, nav, navigate } from "../state";
import { focusFilter } from "../table/filters";
import { Grid } from "../table/grid";
import { openSlice } from "../table/open-slice";
import { isText } from "../table/requests";
import { TableToolbar } from "../table/toolbar";
import { usePages } from "../table/use-pages";
import { SINGLE, type TableView } from "../table/view";
import type { TimeRange, TimeView } from "../time/view";
import { Absent, Await } from "../ui/states";

/** Margins of the page and border of the card. */
const AROUND = 30;

const change = (patch: Partial<TableView>) => adjust({ allocations: { ...nav.peek().allocations, ...patch } });
const go = (patch: Partial<TableView>) => navigate({ allocations: { ...nav.peek().allocations, ...patch } });

/** `range`: only what was allocated in it; groups hold all. */
export function AllocationsCard({ range }: { view: TimeView; range: TimeRange | null }): JSX.Element {
  const view = nav.value.allocations;
  const by = view.by ?? SINGLE;
  const asked = useMemo<TableView>(() => {
    const within = range && by === SINGLE ? [{ column: "start_ns", least: range.t0, most: range.t1 }] : [];
    return { ...view, by, bounds: [...view.bounds, ...within] };
  }, [view, by, range?.t0, range?.t1]);
  const { pages, answer, problem, columns, said, say } = usePages(view, asked, AROUND);
  const open = (id: number) => {
    const at = key.peek();
    if (by !== SINGLE) go({ by: SINGLE, sort: null, within: { by, id } });
    else if (at) {
      const isStillHere = here();
      answered(() => getSlice(at, id)).then(
        ({ origin_ns, start, dur }) => isStillHere() && openSlice(origin_ns, { row: id, start, dur }),
        (error: unknown) => say(sentence(error)),
      );
    }
  };
  return (
    <section class="card flush allocations" data-testid="allocations" aria-label="Allocations">
      <div class="card-head">
        <h3 title={DEFINITIONS.allocations}>Allocations</h3>
        <span class="faint">
          {by !== SINGLE
            ? "of all deep windows and allocators; a row lists its allocations"
            : `${range ? "made in the interval on show" : "of all deep windows and allocators"}; a row opens it in the timeline`}
        </span>
      </div>
      <TableToolbar
        view={{ ...view, by }}
        answer={answer}
        problem={problem}
        busy={pages.busy.value}
        columns={columns}
        onChange={change}
        onGo={go}
      />
      {answer === null ? (
        <Await of={pages.now.value} what="the allocations">
          {() => null}
        </Await>
      ) : (
        <div class="tables-grid">
          <Grid
            label="Allocations"
            pages={pages}
            answer={answer}
            columns={columns}
            ascending={view.ascending}
            open={null}
            onSort={(column) =>
              change({
                sort: column.key,
                ascending: answer.sort === column.key ? !view.ascending : isText(column.unit),
              })
            }
            onOpen={open}
            onToggle={() => undefined}
            onType={focusFilter}
            say={say}
          />
          {answer.count === 0 && <Absent>No allocation meets the filter.</Absent>}
        </div>
      )}
      <p class="sr-only" role="status">
        {said}
      </p>
    </section>
  );
}
