// Time series of an object: what the agent keeps or, where it keeps none, what this page has seen.

import { get, offers, query } from "./api.js";
import { useOwnPoints } from "./chart.js";
import { duration } from "./format.js";
import { useAnswer } from "./parts.js";

const EVERY_MILLISECONDS = 30000;

// own: {at, values} of this moment, by the names of series; null while nothing is known.
export function useSeries(parameters, own) {
  const key = query(parameters);
  const { value, error } = useAnswer(
    async (signal) => ((await offers("/api/v1/series")) ? get(`/api/v1/series?${key}`, signal) : { isMissing: true }),
    [key],
    EVERY_MILLISECONDS,
  );
  const seen = useOwnPoints(key, own);
  if (value && !value.isMissing) {
    return { times: value.times, series: value.series, error, note: `kept by the agent${value.source === "history" ? ", from its history" : ""}, a point every ${duration(value.step)}` };
  }
  return { ...seen, error, note: value ? "since this page was opened" : "" };
}

export const line = (series, name, label, color, more = {}) => ({ label, color, values: series.series[name] || series.times.map(() => null), ...more });
