// Time series of an object: what the agent keeps, and from there on what this page has seen.

import { get, offers, query } from "./api.js";
import { useOwnPoints } from "./chart.js";
import { useAnswer } from "./parts.js";

const EVERY_MILLISECONDS = 30000;
const SERIES = "/api/v1/series";

// own: {at, values} of this moment, by the names of series; null while nothing is known.
export function useSeries(parameters, own) {
  const key = query(parameters);
  const { value, error } = useAnswer(
    async (signal) => ((await offers(SERIES)) ? get(`${SERIES}?${key}`, signal) : null),
    [key],
    EVERY_MILLISECONDS,
  );
  const seen = useOwnPoints(key, own);
  if (!value?.times.length) return { ...seen, error, told: value?.note, note: "since this page was opened" };
  const until = value.history_until && new Date(value.history_until * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return { ...joined(value, seen), error, told: value.note, note: until ? `until ${until} from the history, then as the agent remembers it` : "as the agent remembers it" };
}

// Seconds of this page follow the minutes of the agent.
function joined(kept, seen) {
  const from = seen.times.findIndex((time) => time > kept.times.at(-1));
  if (from < 0) return kept;
  const times = [...kept.times, ...seen.times.slice(from)];
  const series = {};
  for (const [name, values] of Object.entries(kept.series)) {
    const own = seen.series[name] || Array(seen.times.length).fill(null);
    series[name] = [...values, ...own.slice(from)];
  }
  return { times, series };
}

export const line = (series, name, label, color, more = {}) => ({ label, color, values: series.series[name] || series.times.map(() => null), ...more });
