// The statistics of some steps, for the parts of the page that show them: those that ask the same share the answer.

import { getStatistics, type Chosen, type StatisticsAnswer } from "../dashboard/requests";
import type { Loaded } from "../resource";
import { useFetched } from "../ui/fetched";
import type { By } from "./step-parts";

export const useStatistics = (chosen: Chosen, query: { by: By; host: boolean }): Loaded<StatisticsAnswer> =>
  useFetched(`statistics ${JSON.stringify([chosen, query.by, query.host])}`, (key, signal) =>
    getStatistics(key, chosen, query, signal),
  );
