// What keeps rows in each partition, and what another policy would do.

import { get, objectPath, post, query, splitRef } from "../api.js";
import { Axes } from "../axis.js";
import { bytes, count, plural, words } from "../format.js";
import { html, useEffect, useState } from "../lib.js";
import { Failure, useAnswer } from "../parts.js";

const EVERY_MILLISECONDS = 10000;
const OFFSETS = new Set(["vital_consumer", "nothing_read"]);
const FLOORS = new Set(["retained_rows", "retained_lifetime_duration"]);
const MOST_CONSUMERS = 20;
const UNITS = { seconds: 1000, minutes: 60000, hours: 3600000, days: 86400000 };

export function Trimming({ queue, partitions }) {
  const [preview, setPreview] = useState(null);
  const { value: marks, error } = useAnswer((signal) => findMarks(queue, signal), [queue.cluster, queue.path], EVERY_MILLISECONDS);
  const drawn = partitions
    .map((one, index) => ({ one, index, planned: preview?.partitions?.[index] }))
    .filter(({ one }) => typeof one.upper_row_index === "number")
    .map(({ one, index, planned }) => ({
      index,
      lower: one.lower_row_index,
      upper: one.upper_row_index,
      target: planned ? planned.target : one.trim?.target,
      constraint: planned ? planned.constraint : one.trim?.constraint,
      floors: floorsOf(planned || marks?.plan?.[index]),
      marks: (marks?.offsets[index] || []).map((mark) => settle(mark, one.upper_row_index)),
    }));
  return html`<section aria-labelledby="trimming"><h2 id="trimming">Trimming</h2>
    ${error && html`<${Failure} error=${error} />`}
    <${Plan} queue=${queue} preview=${preview} onPreview=${setPreview} />
    ${drawn.length ? html`<${Axes} partitions=${drawn} />` : html`<p class="quiet">The partitions are not known.</p>`}
  </section>`;
}

// Queue and consumers are polled one after the other: what was written in between does not put an offset past the end.
function settle(mark, end) {
  return mark.isAhead || mark.offset <= end ? mark : { ...mark, offset: end };
}

const floorsOf = (planned) => (planned?.bounds || []).filter((one) => FLOORS.has(one.kind)).map((one) => ({ kind: one.kind, row: one.row_index }));

// Offsets by partition, of consumers and of exports: those the plan names, and consumers that keep nothing.
async function findMarks(queue, signal) {
  const ask = (policy) => post(`${objectPath("queues", queue.cluster, queue.path)}/trim-plan`, policy, null, signal).catch(() => null);
  const own_plan = await ask(undefined);
  // A queue that is not trimmed has no bounds of its own; its exports still have progress.
  const plan = own_plan && !own_plan.config?.enable ? await ask({ enable: true }) : own_plan;
  const offsets = {};
  const add = (index, mark) => (offsets[index] ||= []).push(mark);
  for (const [index, one] of (plan?.partitions || []).entries()) {
    for (const bound of one.bounds || []) {
      if (!bound.subject || typeof bound.row_index !== "number") continue;
      if (bound.kind === "export") add(index, { kind: "export", who: bound.subject, offset: bound.row_index });
      else if (OFFSETS.has(bound.kind)) add(index, { kind: "consumer", who: bound.subject, offset: bound.row_index, isVital: true });
    }
  }
  const known = new Set(Object.values(offsets).flatMap((list) => list.map((mark) => mark.who)));
  const own = `${queue.cluster}:${queue.path}`;
  const registrations = (queue.status?.registrations || []).filter((one) => !one.error && !known.has(one.consumer)).slice(0, MOST_CONSUMERS);
  await Promise.all(registrations.map(async (one) => {
    const { cluster, path, name } = splitRef(one.consumer);
    const consumer = await get(`${objectPath("consumers", cluster, path)}?${query({ name })}`, signal).catch(() => null);
    for (const [index, partition] of (consumer?.partitions?.[own] || []).entries()) {
      if (typeof partition.next_row_index === "number") add(index, { kind: "consumer", who: one.consumer, offset: partition.next_row_index, isVital: one.vital, isAhead: partition.disposition === "ahead" });
    }
  }));
  return { offsets, plan: own_plan?.config?.enable ? own_plan.partitions : null };
}

function Plan({ queue, preview, onPreview }) {
  const [policy, setPolicy] = useState({ rows: "", lifetime: "", unit: "minutes" });
  const [error, setError] = useState(null);
  const change = (part) => setPolicy((last) => ({ ...last, ...part }));
  const plan = `${objectPath("queues", queue.cluster, queue.path)}/trim-plan`;
  const ask = async (event) => {
    event?.preventDefault();
    const wish = {};
    if (policy.rows !== "") wish.retained_rows = Number(policy.rows);
    if (policy.lifetime !== "") wish.retained_lifetime_duration = Math.round(Number(policy.lifetime) * UNITS[policy.unit]);
    try {
      onPreview(await post(plan, { enable: true, ...wish }));
      setError(null);
    } catch (failed) {
      setError(failed);
    }
  };
  const current = useAnswer(() => post(plan, undefined), [queue.cluster, queue.path]);
  useEffect(() => fill(current.value?.config, change), [current.value]);
  return html`<form class="plan" onSubmit=${ask}>
    <p>${current.value ? tellPolicy(current.value) : "What the queue's own policy is, is not known."} Try another; nothing is trimmed by it.</p>
    <label>Keep rows <input type="number" min="0" step="1" id="plan-rows" value=${policy.rows} onInput=${(event) => change({ rows: event.target.value })} /></label>
    <label>Keep for <input type="number" min="0" step="any" id="plan-lifetime" value=${policy.lifetime} onInput=${(event) => change({ lifetime: event.target.value })} /></label>
    <label>Unit <select id="plan-unit" value=${policy.unit} onChange=${(event) => change({ unit: event.target.value })}>
      ${Object.keys(UNITS).map((unit) => html`<option key=${unit} value=${unit}>${unit}</option>`)}</select></label>
    <button type="submit" id="plan-ask">What would it do?</button>
    ${preview && html`<button type="button" onClick=${() => onPreview(null)}>Back to what is</button>`}
    ${error && html`<${Failure} error=${error} />`}
    ${preview && html`<p class="answer" role="status" id="plan-answer">${tellPlan(preview)}</p>`}
  </form>`;
}

function fill(config, change) {
  if (!config) return;
  const lifetime = config.retained_lifetime_duration;
  change({
    rows: config.retained_rows ?? "",
    lifetime: typeof lifetime === "number" ? String(lifetime / UNITS.minutes) : "",
    unit: "minutes",
  });
}

function tellPolicy({ config, trimming }) {
  if (!config?.enable) return "The queue is not trimmed automatically.";
  const mode = trimming === "trim" ? "" : ` The agent's trimming is ${words(trimming)}.`;
  return `The queue is trimmed automatically.${mode}`;
}

function tellPlan(plan) {
  if (plan.error) return plan.error.message;
  const kinds = new Map();
  for (const one of plan.partitions) {
    const kind = one.constraint ? words(one.constraint.kind) : "nothing";
    kinds.set(kind, (kinds.get(kind) || 0) + 1);
  }
  const bounds = [...kinds].map(([kind, number]) => `${kind} (${plural(number, "partition")})`).join(", ");
  const what = plan.row_count ? `It would trim ${plural(plan.row_count, "row")}, ${bytes(plan.data_weight)}, now.` : "It would trim nothing now.";
  return `${what} Bound by: ${bounds || count(0)}.`;
}
