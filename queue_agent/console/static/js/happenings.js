// Events of the stage: what the agent's record says, in one form, and as marks on charts.

import { get, offers, query } from "./api.js";
import { useAnswer } from "./parts.js";

export const EVENTS = "/api/v1/events";
export const KINDS = ["loss", "verdict", "trim", "skip", "rewind", "recreation", "hand_over", "grace", "dead", "revived", "quarantine_announced", "quarantine_started", "quarantine_ended", "act", "export", "export_failed", "export_recovered", "loss_ended", "dropped"];
const EVERY_MILLISECONDS = 15000;
const MOST_MARKS = 200;
const DAY_SECONDS = 86400;
const COLORS = { loss: "red", trim: "red", dropped: "red", verdict: "amber", dead: "amber", revived: "green", quarantine_announced: "amber", quarantine_started: "red", quarantine_ended: "green", skip: "amber", rewind: "amber", recreation: "amber", loss_ended: "green", export_failed: "amber", export_recovered: "green" };
const LABELS = { loss: "loss begins", loss_ended: "loss ended", trim: "unread rows trimmed", verdict: "verdict", skip: "rows skipped", rewind: "step back", recreation: "queue made again", grace: "rows wait for a slow reader", quarantine_announced: "notice of quarantine", quarantine_started: "quarantine begins", quarantine_ended: "quarantine ended" };

export const colorOfEvent = (event) => COLORS[event.kind] || "gray";
export const timeOf = (event) => event.instant || event.time;

export const since = (seconds) => new Date(Date.now() - seconds * 1000).toISOString();

// Losses and verdicts of the last day in a queue, or of a consumer; none while the agent keeps no events.
export function useMarks({ queue, consumer }) {
  const ask = async (signal) => {
    if (!(await offers(EVENTS))) return [];
    const page = await get(`${EVENTS}?${query({ queue, consumer, kind: Object.keys(LABELS).join(","), limit: MOST_MARKS, since: since(DAY_SECONDS) })}`, signal);
    return page.events
      .map((one) => ({ time: Date.parse(timeOf(one)) / 1000, color: colorOfEvent(one), label: LABELS[one.kind] || one.kind }))
      .filter((one) => Number.isFinite(one.time))
      .reverse();
  };
  return useAnswer(ask, [queue, consumer], EVERY_MILLISECONDS).value || undefined;
}
