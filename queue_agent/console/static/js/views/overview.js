// What is wrong, first; then all queues and consumers.

import { splitRef } from "../api.js";
import { Spark } from "../chart.js";
import { byteRate, bytes, clock, count, duration, plural, rate, secondsSince, shorten, visible } from "../format.js";
import { html, useDeferredText, useMemo, useState } from "../lib.js";
import { colorOf, ConsumerLink, ConsumerOfQueue, Failure, Missing, Name, QueueLink, Remedy, severity, Verdict } from "../parts.js";
import { refine } from "../router.js";
import { consumerKey, queueKey } from "../source.js";
import { Table } from "../table.js";

const FIRST_PROBLEMS = 10;
const TURNS = { owner: "The owner of the consumer has to act.", operator: "An operator has to act.", cluster: "The cluster has to recover." };

export const forecast = (one) => (one && typeof one === "object" ? one.value : one ?? null);

const QUEUES = [
  { key: "state", label: "State", value: (row) => severity(row.verdict), show: (row) => html`<${Verdict} verdict=${row.verdict} />` },
  { key: "path", label: "Queue", value: queueKey, show: (row) => html`<${QueueLink} ...${row} limit=${44} />` },
  { key: "write", label: "Written", numeric: true, value: (row) => row.write_rows_rate, show: (row) => rate(row.write_rows_rate) },
  { key: "bytes_rate", label: "Written, bytes", numeric: true, wide: true, value: (row) => row.write_bytes_rate, show: (row) => byteRate(row.write_bytes_rate) },
  { key: "rows", label: "Rows", numeric: true, value: (row) => row.rows, show: (row) => count(row.rows) },
  { key: "bytes", label: "Size", numeric: true, wide: true, value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
  { key: "partitions", label: "Partitions", numeric: true, wide: true, value: (row) => row.partitions, show: (row) => count(row.partitions) },
  { key: "consumers", label: "Consumers", numeric: true, wide: true, value: (row) => row.consumers, show: (row) => `${count(row.consumers)}${row.vital ? ` (${count(row.vital)} vital)` : ""}` },
  { key: "spark", label: "Rows, lately", wide: true, show: (row) => html`<${Spark} points=${row.spark} />` },
];

const CONSUMERS = [
  { key: "state", label: "Verdict", value: (row) => severity(row.verdict), show: (row) => html`<${Verdict} verdict=${row.verdict} />` },
  { key: "path", label: "Consumer", value: consumerKey, show: (row) => html`<${ConsumerLink} row=${row} limit=${44} />${row.vital && html` <span class="tag">vital</span>`}` },
  { key: "queue", label: "Queue", wide: true, value: (row) => `${row.queue_cluster}:${row.queue_path}`, show: (row) => html`<${QueueLink} cluster=${row.queue_cluster} path=${row.queue_path} limit=${38} />` },
  { key: "lag_rows", label: "Unread", numeric: true, value: (row) => row.lag_rows, show: (row) => count(row.lag_rows) },
  { key: "lag_time", label: "Behind", numeric: true, value: (row) => row.lag_time, show: (row) => duration(row.lag_time) },
  { key: "read", label: "Read", numeric: true, wide: true, value: (row) => row.read_rows_rate, show: (row) => rate(row.read_rows_rate) },
  { key: "catch_up", label: "Caught up in", numeric: true, wide: true, value: (row) => forecast(row.time_to_catch_up), show: (row) => duration(forecast(row.time_to_catch_up)) },
  { key: "loss", label: "Loses in", numeric: true, wide: true, value: (row) => forecast(row.time_to_loss), show: (row) => duration(forecast(row.time_to_loss)) },
  { key: "spark", label: "Unread, lately", wide: true, show: (row) => html`<${Spark} points=${row.spark} />` },
];

export function Overview({ overview, parameters }) {
  if (!overview.ready) return overview.error ? html`<${Failure} error=${overview.error} />` : html`<p class="quiet">Asking the agent…</p>`;
  return html`<${Problems} overview=${overview} />
    <${Missing} missing=${overview.missing} />
    <${Lists} overview=${overview} parameters=${parameters} />`;
}

function Problems({ overview }) {
  const [isAll, setAll] = useState(false);
  const { problems, queues, consumers } = overview;
  const unheard = consumers.filter((row) => colorOf(row.verdict) === "blue").length;
  if (!problems.length && overview.missing.length) {
    return html`<section class="problems" aria-labelledby="wrong"><h2 id="wrong">Nothing is known to be wrong, but not everything is known</h2></section>`;
  }
  if (!problems.length && !overview.live) {
    return html`<section class="problems" aria-labelledby="wrong"><h2 id="wrong">Nothing was wrong when the agent last answered</h2></section>`;
  }
  if (!problems.length) {
    return html`<section class="calm" aria-labelledby="wrong"><h2 id="wrong"><span aria-hidden="true">✓</span> Nothing needs you</h2>
      <p>${plural(queues.length, "queue")} and ${plural(consumers.length, "consumer")} are watched.
        ${unheard > 0 && ` ${plural(unheard, "consumer catches", "consumers catch")} up.`}</p></section>`;
  }
  const shown = isAll ? problems : problems.slice(0, FIRST_PROBLEMS);
  return html`<section class="problems" aria-labelledby="wrong">
    <h2 id="wrong">${plural(problems.length, "problem")}</h2>
    <ul>${shown.map((one) => html`<${Problem} key=${keyOfProblem(one)} problem=${one} consumers=${consumers} />`)}</ul>
    ${problems.length > shown.length && html`<button type="button" onClick=${() => setAll(true)}>Show all ${count(problems.length)}</button>`}
  </section>`;
}

// Text, as keys are compared by identity: with another key at each update the card would be replaced, under a hand that clicks on it.
const keyOfProblem = ({ kind, agent, consumer, queue, category }) => JSON.stringify([kind, agent, consumer, queue, category]);

function Problem({ problem, consumers }) {
  const color = problem.color || (problem.kind === "agent" ? "red" : "amber");
  const label = problem.verdict || problem.category || "problem";
  return html`<li class=${`problem ${color}`}>
    <p class="what"><${Verdict} verdict=${label} color=${color} /> <${Subject} problem=${problem} /></p>
    <p class="sentence"><bdi>${shorten(visible(problem.reason || ""), 600)}</bdi></p>
    <p class="quiet">${sinceWhen(problem)} ${howLong(problem, consumers)} ${TURNS[problem.turn]}</p>
    <${Remedy} of=${problem} />
  </li>`;
}

function Subject({ problem }) {
  if (problem.kind === "consumer") {
    return html`<${ConsumerOfQueue} consumer=${problem.consumer} queue=${problem.queue} />
      ${problem.vital && html` <span class="tag">vital</span>`} <span class="quiet">in</span> <${QueueLink} ...${splitRef(problem.queue)} />`;
  }
  if (problem.queue) return html`<${QueueLink} ...${splitRef(problem.queue)} />`;
  return problem.agent ? html`<span class="quiet">agent</span> <${Name} text=${problem.agent} />` : html`<span>this agent</span>`;
}

const sinceWhen = (problem) =>
  problem.verdict_since && html`<span title=${clock(problem.verdict_since)}>For ${duration(Math.max(0, secondsSince(problem.verdict_since)))}.</span>`;

// How long it may go on is in the consumer's row.
function howLong(problem, consumers) {
  if (problem.kind !== "consumer") return "";
  const row = consumers.find((one) => refOf(one) === problem.consumer && `${one.queue_cluster}:${one.queue_path}` === problem.queue);
  const seconds = row ? forecast(row.time_to_loss) : null;
  if (seconds === null) return "";
  return seconds <= 0 ? "It loses rows now." : `It begins to lose rows in ${duration(seconds)}.`;
}

const refOf = (row) => `${row.cluster}:${row.path}`;

function Lists({ overview, parameters }) {
  const { q = "", show = "", cluster = "" } = parameters;
  const needle = useDeferredText(q.trim().toLowerCase());
  const clusters = useMemo(() => [...new Set([...overview.queues, ...overview.consumers].map((row) => row.cluster))].sort(), [overview]);
  const keep = (text, row) =>
    (!needle || text.toLowerCase().includes(needle)) && (!cluster || row.cluster === cluster) && (!show || isShown(show, row));
  const queues = useMemo(() => overview.queues.filter((row) => keep(queueKey(row), row)), [overview.queues, needle, cluster, show]);
  const consumers = useMemo(
    () => overview.consumers.filter((row) => keep(`${consumerKey(row)} ${row.sentence || ""}`, row)),
    [overview.consumers, needle, cluster, show],
  );
  return html`<form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label>Search <input type="search" id="search" value=${q} placeholder="path, cluster or words" onInput=${(event) => refine({ q: event.target.value })} /></label>
      <label>Show <select id="show" value=${show} onChange=${(event) => refine({ show: event.target.value })}>
        <option value="">everything</option><option value="red">red</option><option value="amber">red and amber</option>
        <option value="vital">vital consumers</option><option value="silent">nothing written</option></select></label>
      <label>Cluster <select id="cluster" value=${cluster} onChange=${(event) => refine({ cluster: event.target.value })}>
        <option value="">all</option>${clusters.map((name) => html`<option key=${name} value=${name}>${shorten(visible(name), 40)}</option>`)}</select></label>
    </form>
    <section aria-labelledby="consumers"><h2 id="consumers">Consumers <span class="quiet">${of(consumers, overview.consumers)}</span></h2>
      <${Table} label="Consumers" columns=${CONSUMERS} rows=${consumers} keyOf=${consumerKey} sort=${parameters.consumers || "state"}
        onSort=${(sort) => refine({ consumers: sort })} empty="No consumer is like that." /></section>
    <section aria-labelledby="queues"><h2 id="queues">Queues <span class="quiet">${of(queues, overview.queues)}</span></h2>
      <${Table} label="Queues" columns=${QUEUES} rows=${queues} keyOf=${queueKey} sort=${parameters.queues || "state"}
        onSort=${(sort) => refine({ queues: sort })} empty="No queue is like that." /></section>`;
}

function isShown(show, row) {
  if (show === "vital") return Boolean(row.vital);
  if (show === "silent") return row.write_rows_rate === 0;
  const color = colorOf(row.verdict);
  return color === "red" || (show === "amber" && color === "amber");
}

const of = (shown, everything) => (shown.length === everything.length ? count(everything.length) : `${count(shown.length)} of ${count(everything.length)}`);
