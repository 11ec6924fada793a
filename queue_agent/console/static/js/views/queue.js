// One queue: partitions, rates, consumers, exports, and what trimming does.

import { get, objectPath } from "../api.js";
import { Acts, queueActs } from "../acts.js";
import { Chart } from "../chart.js";
import { ago, byteRate, bytes, clock, count, duration, exact, plural, rate, shorten, visible, words } from "../format.js";
import { html, useMemo, useState } from "../lib.js";
import { ConsumerOfQueue, Facts, Failure, LongName, severity, useAnswer, Verdict } from "../parts.js";
import { address, refine } from "../router.js";
import { useMarks } from "../happenings.js";
import { line, useSeries } from "../series.js";
import { Table } from "../table.js";
import { Trimming } from "./trimming.js";

const EVERY_MILLISECONDS = 2000;

export function Queue({ parameters, session, overview }) {
  const { cluster, path } = parameters;
  const { value: queue, error } = useAnswer((signal) => get(objectPath("queues", cluster, path), signal), [cluster, path], EVERY_MILLISECONDS);
  const own = useMemo(() => (queue?.status && Array.isArray(queue.partitions) ? figures(queue) : null), [queue]);
  const series = useSeries({ kind: "queue", cluster, path, hours: 24 }, own);
  const marks = useMarks({ queue: `${cluster}:${path}` });
  const events = address("events", { queue: `${cluster}:${path}` });
  if (!queue) return error ? html`<${Title} parameters=${parameters} /><${Failure} error=${error} />` : html`<p class="quiet">Asking the agent…</p>`;
  const partitions = Array.isArray(queue.partitions) ? queue.partitions : [];
  return html`<${Title} parameters=${parameters} />
    ${error && html`<${Failure} error=${error} />`}
    ${queue.error && html`<${Failure} error=${queue.error} />`}
    <${Alerts} alerts=${queue.status?.alerts} />
    <${Acts} session=${session} acts=${queueActs(queue)} />
    <${Facts} facts=${facts(queue, partitions)} />
    <p><a href=${events}>What has happened here</a></p>
    <div class="charts">
      <${Chart} title="Written and trimmed" note=${series.note} times=${series.times} format=${rate} marks=${marks} href=${events}
        lines=${[line(series, "write_rows_rate", "Rows written", "blue"), line(series, "trim_rows_rate", "Rows trimmed", "amber")]} />
      <${Chart} title="Written, bytes" note=${series.note} times=${series.times} format=${byteRate}
        lines=${[line(series, "write_bytes_rate", "Bytes written", "blue")]} />
      <${Chart} title="Rows there" note=${series.note} times=${series.times} format=${count} marks=${marks} href=${events}
        lines=${[line(series, "backlog_rows", "Rows", "green")]} />
    </div>
    ${series.told && html`<p class="quiet">${series.told}.</p>`}
    ${series.error && html`<${Failure} error=${series.error} />`}
    <${Consumers} queue=${queue} overview=${overview} />
    <${Exports} queue=${queue} />
    <${Partitions} queue=${queue} partitions=${partitions} parameters=${parameters} />
    <${Trimming} queue=${queue} partitions=${partitions} />`;
}

function Title({ parameters }) {
  return html`<h1 tabindex="-1"><span class="kind">Queue</span> <${LongName} text=${`${parameters.cluster}:${parameters.path}`} /></h1>`;
}

function figures({ status, partitions }) {
  const rows = partitions.map((one) => one.available_row_count).filter((value) => typeof value === "number");
  const values = {
    write_rows_rate: status.write_row_count_rate?.current,
    write_bytes_rate: status.write_data_weight_rate?.current,
    backlog_rows: rows.length ? rows.reduce((sum, value) => sum + value, 0) : null,
  };
  return { at: Date.now() / 1000, values };
}

function facts({ status, pass_instant: seen }, partitions) {
  if (!status) return [];
  const sum = (name) => partitions.reduce((all, one) => all + (one[name] || 0), 0);
  return [
    ["Written", html`${rate(status.write_row_count_rate?.current)}, ${byteRate(status.write_data_weight_rate?.current)}`],
    ["Rows there", html`${exact(sum("available_row_count"))}, ${bytes(sum("available_data_weight"))}`],
    ["Partitions", html`${exact(status.partition_count)}, ${skew(partitions)}`],
    ["Kind", words(status.family || "unknown")],
    ["Agent", html`<bdi>${shorten(visible(status.queue_agent_host || "unknown"), 80)}</bdi>`],
    ["Looked at", html`<span title=${clock(seen)}>${ago(seen)}</span>`],
  ];
}

// How much more the fullest partition gets than an equal share.
function skew(partitions) {
  const rates = partitions.map((one) => one.write_row_count_rate?.["1h"]).filter((value) => typeof value === "number");
  const sum = rates.reduce((all, value) => all + value, 0);
  if (rates.length < 2 || sum === 0) return "nothing to compare";
  const factor = Math.max(...rates) / (sum / rates.length);
  return factor < 1.25 ? "evenly written" : `one is written ${factor.toFixed(1)} times as much as the average`;
}

function Alerts({ alerts }) {
  const entries = Object.entries(alerts || {});
  if (!entries.length) return null;
  return html`<ul class="alerts">${entries.map(([name, error]) => html`<li key=${name} class="failure"><bdi>${shorten(visible(error.message || name), 800)}</bdi></li>`)}</ul>`;
}

const CONSUMER_COLUMNS = [
  { key: "verdict", label: "Verdict", value: (row) => severity(row.verdict), show: (row) => html`<${Verdict} verdict=${row.verdict} />` },
  { key: "consumer", label: "Consumer", value: (row) => row.consumer, show: (row) => html`<${ConsumerOfQueue} consumer=${row.consumer} queue=${row.queue} />${row.vital && html` <span class="tag">vital</span>`}` },
  { key: "rows", label: "Unread", numeric: true, value: (row) => row.lag_rows ?? null, show: (row) => count(row.lag_rows) },
  { key: "bytes", label: "Unread, bytes", numeric: true, wide: true, value: (row) => row.lag_bytes ?? null, show: (row) => bytes(row.lag_bytes) },
  { key: "time", label: "Behind", numeric: true, value: (row) => row.lag_time ?? null, show: (row) => duration(row.lag_time) },
  { key: "read", label: "Read", numeric: true, wide: true, value: (row) => row.read_rows_rate ?? null, show: (row) => rate(row.read_rows_rate) },
  { key: "why", label: "Why", wide: true, value: (row) => row.reason, show: (row) => html`<bdi class="cut">${shorten(visible(row.reason || ""), 160)}</bdi>` },
];

function Consumers({ queue, overview }) {
  const [sort, setSort] = useState("verdict");
  const lags = new Map(overview.consumers.filter((row) => row.queue_path === queue.path && row.queue_cluster === queue.cluster).map((row) => [`${row.cluster}:${row.path}`, row]));
  const rows = (queue.status?.registrations || []).map((one) => ({ ...lags.get(one.consumer), ...one, verdict: one.verdict || "unknown" }));
  return html`<section aria-labelledby="consumers"><h2 id="consumers">Consumers</h2>
    <${Table} label="Consumers of the queue" columns=${CONSUMER_COLUMNS} rows=${rows} keyOf=${(row) => row.consumer} sort=${sort} onSort=${setSort}
      empty="No consumer is registered: nothing is trimmed for them, and nobody misses a row." /></section>`;
}

function Exports({ queue }) {
  const progress = Object.entries(queue.status?.exports?.progress || {});
  const error = queue.status?.exports?.error;
  const { value: plan } = useAnswer(
    (signal) => (progress.length ? fetch(`${objectPath("queues", queue.cluster, queue.path)}/export-plan`, { method: "POST", signal }).then((answer) => (answer.ok ? answer.json() : null)) : Promise.resolve(null)),
    [queue.cluster, queue.path, progress.length], 15000);
  if (!progress.length && !error) return null;
  return html`<section aria-labelledby="exports"><h2 id="exports">Static exports</h2>
    ${error && html`<${Failure} error=${error} />`}
    ${progress.map(([name, one]) => {
      const planned = plan?.exports?.[name];
      const failed = one.queue_export_error || planned?.error;
      return html`<article key=${name} class="card"><h3><bdi>${shorten(visible(name), 100)}</bdi></h3>
        ${failed && failed.code !== 0 && html`<${Failure} error=${failed} />`}
        <${Facts} facts=${[
          ["Last export", ago(one.last_successful_export_task_instant)],
          ["Last try", ago(one.last_export_task_instant)],
          planned?.next_export_unix_ts && ["Next", html`<span title=${clock(planned.next_export_unix_ts * 1000)}>in ${duration(Math.max(0, planned.next_export_unix_ts - Date.now() / 1000))}</span>`],
          planned && ["Backlog", `${plural((planned.tables || []).reduce((all, table) => all + table.row_count, planned.waiting_row_count), "row")}`],
          planned && ["Due now", plural(planned.tables?.length ?? 0, "table")],
          planned && ["Failures", failed && failed.code !== 0 ? "the last task failed" : "none"],
          planned && ["To", html`<bdi>${shorten(visible(planned.directory), 120)}</bdi>`],
        ]} /></article>`;
    })}</section>`;
}

const PARTITION_COLUMNS = [
  { key: "index", label: "Partition", numeric: true, value: (row) => row.index, show: (row) => exact(row.index) },
  { key: "rows", label: "Rows", numeric: true, value: (row) => row.available_row_count ?? null, show: (row) => count(row.available_row_count) },
  { key: "size", label: "Size", numeric: true, wide: true, value: (row) => row.available_data_weight ?? null, show: (row) => bytes(row.available_data_weight) },
  { key: "write", label: "Written", numeric: true, value: (row) => row.write_row_count_rate?.current ?? null, show: (row) => rate(row.write_row_count_rate?.current) },
  { key: "share", label: "Share of rows", value: (row) => row.share, show: (row) => html`<${Share} share=${row.share} />` },
  { key: "first", label: "First row", numeric: true, wide: true, value: (row) => row.lower_row_index ?? null, show: (row) => exact(row.lower_row_index) },
  { key: "end", label: "End", numeric: true, wide: true, value: (row) => row.upper_row_index ?? null, show: (row) => exact(row.upper_row_index) },
  { key: "last", label: "Last written", wide: true, value: (row) => row.last_row_commit_time, show: (row) => ago(row.last_row_commit_time) },
  { key: "peek", label: "Rows", show: (row) => html`<a href=${row.peek}>look<span class="unseen"> at rows of partition ${row.index}</span></a>` },
];

function Share({ share }) {
  return html`<span class="share"><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width=${share * 100} height="8" /></svg> ${Math.round(share * 100)} %</span>`;
}

function Partitions({ queue, partitions, parameters }) {
  const sum = partitions.reduce((all, one) => all + (one.available_row_count || 0), 0);
  const { cluster, path } = queue;
  const rows = partitions.map((one, index) => ({
    ...one, index, share: sum ? (one.available_row_count || 0) / sum : 0, peek: address("rows", { cluster, path, partition: index }),
  }));
  const broken = rows.filter((row) => row.error);
  return html`<section aria-labelledby="partitions"><h2 id="partitions">Partitions</h2>
    ${broken.slice(0, 5).map((row) => html`<${Failure} key=${row.index} error=${{ message: `Partition ${row.index}: ${row.error.message}` }} />`)}
    <${Table} label="Partitions" columns=${PARTITION_COLUMNS} rows=${rows} keyOf=${(row) => row.index} sort=${parameters.partitions || "index"}
      onSort=${(sort) => refine({ partitions: sort })} empty="The partitions are not known." /></section>`;
}
