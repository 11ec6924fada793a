// One consumer in one queue: lag, forecast, verdict with its evidence, losses, partitions.

import { get, joinRef, objectPath, offers, query, splitRef } from "../api.js";
import { Acts, consumerActs } from "../acts.js";
import { Chart } from "../chart.js";
import { byteRate, bytes, clock, count, duration, exact, plural, rate, secondsSince, shorten, visible, words } from "../format.js";
import { html, useMemo } from "../lib.js";
import { ConsumerLink, Facts, Failure, LongName, QueueLink, Remedy, severity, useAnswer, Verdict } from "../parts.js";
import { EVENTS, since, useMarks } from "../happenings.js";
import { address, refine } from "../router.js";
import { line, useSeries } from "../series.js";
import { Table } from "../table.js";

const EVERY_MILLISECONDS = 2000;
const LEAST_PAST = 900;
const LOSSES = "loss,loss_ended,skip,rewind";
const MOST_LOSSES = 20;
const LOSSES_SECONDS = 90 * 86400;
const EVERY_EVENTS_MILLISECONDS = 30000;
const UNKNOWN = { verdict: "unknown" };

export function Consumer({ parameters, session }) {
  const { cluster, path, name } = parameters;
  const { value: consumer, error } = useAnswer(
    (signal) => get(`${objectPath("consumers", cluster, path)}?${query({ name })}`, signal), [cluster, path, name], EVERY_MILLISECONDS);
  const queues = Object.keys(consumer?.status?.queues || {});
  const queue = parameters.queue_path ? `${parameters.queue_cluster}:${parameters.queue_path}` : queues[0];
  const title = html`<h1 tabindex="-1"><span class="kind">Consumer</span> <${LongName} text=${`${cluster}:${path}${name ? ` (${name})` : ""}`} /></h1>`;
  if (!consumer) return error ? html`${title}<${Failure} error=${error} />` : html`<p class="quiet">Asking the agent…</p>`;
  return html`${title}
    ${error && html`<${Failure} error=${error} />`}
    ${consumer.error && html`<${Failure} error=${consumer.error} />`}
    ${queues.length > 1 && html`<nav aria-label="Queues of the consumer"><ul class="tabs">${queues.map((one) => html`<li key=${one}>
      <${ConsumerQueue} parameters=${parameters} queue=${one} isCurrent=${one === queue} /></li>`)}</ul></nav>`}
    ${queue ? html`<${InQueue} key=${queue} consumer=${consumer} queue=${queue} parameters=${parameters} session=${session} />`
      : html`<p class="quiet">The consumer is registered with no queue.</p>`}`;
}

function ConsumerQueue({ parameters, queue, isCurrent }) {
  if (isCurrent) return html`<strong aria-current="page"><bdi>${shorten(visible(queue), 60)}</bdi></strong>`;
  const { cluster, path } = splitRef(queue);
  return html`<${ConsumerLink} row=${{ ...parameters, queue_cluster: cluster, queue_path: path }} limit=${60} /> <span class="quiet">in <bdi>${shorten(visible(queue), 60)}</bdi></span>`;
}

function InQueue({ consumer, queue, parameters, session }) {
  const status = consumer.status.queues[queue];
  const partitions = Array.isArray(consumer.partitions?.[queue]) ? consumer.partitions[queue] : [];
  const at = splitRef(queue);
  const verdict = status?.verdict ? status : UNKNOWN;
  const vital = (consumer.status.registrations || []).find((one) => one.queue === queue)?.vital;
  const own = useMemo(() => (status ? figures(status, partitions) : null), [consumer]);
  const series = useSeries({ kind: "consumer", cluster: consumer.cluster, path: consumer.path, name: parameters.name, queue_cluster: at.cluster, queue_path: at.path, hours: 24 }, own);
  const about = { queue, consumer: joinRef({ ...consumer, name: parameters.name }) };
  const marks = useMarks(about);
  const events = address("events", about);
  if (!status) return html`<p class="failure">The consumer is not registered with <bdi>${shorten(visible(queue), 200)}</bdi>.</p>`;
  return html`<p>Reads <${QueueLink} ...${at} /> ${vital && html`<span class="tag">vital</span>`}</p>
    ${status.error && html`<${Failure} error=${status.error} />`}
    <${Why} verdict=${verdict} />
    <${Acts} session=${session} acts=${consumerActs(consumer, at, vital)} />
    <${Facts} facts=${facts(status, partitions)} />
    <div class="charts">
      <${LagChart} series=${series} verdict=${verdict} marks=${marks} href=${events} />
      <${Chart} title="Read" note=${series.note} times=${series.times} format=${rate} lines=${[line(series, "read_rows_rate", "Rows read", "blue")]} />
      <${Chart} title="Behind" note=${series.note} times=${series.times} format=${duration} lines=${[line(series, "lag_time", "Age of the next row", "amber")]} />
      <${Chart} title="Loses rows in" note=${series.note} times=${series.times} format=${duration} lines=${[line(series, "time_to_loss", "Time until rows are lost", "red")]} />
    </div>
    ${series.told && html`<p class="quiet">${series.told}.</p>`}
    ${series.error && html`<${Failure} error=${series.error} />`}
    <${Losses} verdict=${verdict} about=${about} events=${events} />
    <${Partitions} partitions=${partitions} sort=${parameters.partitions || "verdict"} />`;
}

// An offset past the end has a negative number of unread rows; its verdict tells of it.
const unread = (partition) => (typeof partition.unread_row_count === "number" ? Math.max(0, partition.unread_row_count) : null);

const sumOfUnread = (partitions) => partitions.reduce((all, one) => all + (unread(one) || 0), 0);

const oldest = (partitions) => Math.max(0, ...partitions.map((one) => one.processing_lag || 0)) / 1000;

function figures(status, partitions) {
  const values = {
    lag_rows: partitions.length ? sumOfUnread(partitions) : null,
    lag_time: partitions.length ? oldest(partitions) : null,
    read_rows_rate: status.read_row_count_rate?.current,
  };
  return { at: Date.now() / 1000, values };
}

function facts(status, partitions) {
  const weights = partitions.map((one) => one.unread_data_weight).filter((value) => typeof value === "number");
  return [
    ["Unread", `${exact(sumOfUnread(partitions))} rows`],
    weights.length > 0 && ["Unread, bytes", bytes(weights.reduce((all, value) => all + Math.max(0, value), 0))],
    ["Behind", duration(oldest(partitions))],
    ["Read", html`${rate(status.read_row_count_rate?.current)}, ${byteRate(status.read_data_weight_rate?.current)}`],
    ["Partitions", exact(status.partition_count)],
    ["Caught up in", tellForecast(status.time_to_catch_up)],
    ["Loses rows in", tellForecast(status.time_to_loss)],
  ];
}

function tellForecast(forecast) {
  if (!forecast) return "not known";
  if (forecast.value === null) return forecast.cause === "none" ? "not in sight" : words(forecast.cause);
  const { earliest, latest, value } = forecast;
  const who = forecast.subject ? html`; <bdi>${shorten(visible(forecast.subject), 100)}</bdi>` : "";
  const range = earliest === latest ? "" : ` (${duration(earliest)} to ${latest === null ? "unknown" : duration(latest)})`;
  return html`${duration(value)}${range}${who}`;
}

function Why({ verdict }) {
  const { pace, partitions_by_verdict: partitions } = verdict;
  return html`<section class=${`why problem ${verdict.color || "gray"}`} aria-labelledby="why">
    <h2 id="why"><${Verdict} verdict=${verdict.verdict} color=${verdict.color || "gray"} />
      ${verdict.verdict_since && html` <span class="quiet" title=${clock(verdict.verdict_since)}>for ${duration(Math.max(0, secondsSince(verdict.verdict_since)))}</span>`}</h2>
    ${verdict.reason && html`<p class="sentence"><bdi>${shorten(visible(verdict.reason), 1500)}</bdi></p>`}
    <${Remedy} of=${verdict} />
    <details><summary>Evidence</summary><${Facts} facts=${[
      ["Confidence", verdict.confidence || "unknown"],
      ["Whose turn", verdict.turn || "nobody's"],
      pace && ["Usual gap between commits", duration(pace.usual)],
      pace && ["Patience", pace.patience === null ? "none yet: the pace is not known" : duration(pace.patience)],
      pace && ["Gaps known", exact(pace.known_gaps)],
      ["Rows really read", exact(verdict.really_read_row_count)],
      ["Skipped by resets", exact(verdict.skipped_row_count)],
      ["Read again", exact(verdict.replayed_row_count)],
      ["Steps back", exact(verdict.rewind_count)],
      verdict.activity !== verdict.verdict && ["Apart from losses", words(verdict.activity || "unknown")],
      partitions && ["Partitions", Object.entries(partitions).map(([word, number]) => `${count(number)} ${words(word)}`).join(", ")],
    ]} /></details>
  </section>`;
}

// Unread rows, and from now on the way to none: the likely one, and the bounds of it.
function LagChart({ series, verdict, marks, href }) {
  const forecast = verdict.time_to_catch_up;
  const now = series.times.at(-1);
  const plain = html`<${Chart} title="Unread rows" note=${series.note} times=${series.times} format=${count} marks=${marks} href=${href} lines=${[line(series, "lag_rows", "Unread", "amber")]} />`;
  const last = (series.series.lag_rows || []).at(-1);
  if (!forecast?.value || !last) return plain;
  const { value, earliest, latest } = forecast;
  const ends = [earliest ?? value, value, latest ?? value];
  // A forecast of minutes would be a point beside a day: what is behind it is as long as it needs to be seen.
  const from = series.times.findIndex((time) => time >= now - Math.max(LEAST_PAST, 3 * ends[2]));
  const past = series.times.slice(from);
  const lag = series.series.lag_rows.slice(from);
  const ahead = [...new Set(ends.map((seconds) => now + Math.max(1, Math.round(seconds))))].sort((a, b) => a - b);
  const times = [...past, ...ahead];
  const way = (seconds) => times.map((time) => (time < now ? null : Math.max(0, last * (1 - (time - now) / Math.max(1, seconds)))));
  const lines = [
    { label: "Unread", color: "amber", values: [...lag, ...ahead.map(() => null)] },
    { label: "Forecast", color: "blue", values: way(ends[1]), isDashed: true },
    { label: "At the latest", color: "quiet", values: way(ends[2]), isDashed: true },
    { label: "At the earliest", color: "quiet", values: way(ends[0]), isDashed: true },
  ];
  return html`<${Chart} title="Unread rows and forecast" note=${series.note} times=${times} format=${count} lines=${lines} band=${[2, 3]} marks=${marks} href=${href} />`;
}

function Losses({ verdict, about, events }) {
  const history = useAnswer(
    async (signal) => ((await offers(EVENTS)) ? get(`${EVENTS}?${query({ ...about, kind: LOSSES, limit: MOST_LOSSES, since: since(LOSSES_SECONDS) })}`, signal) : null),
    [about.queue, about.consumer], EVERY_EVENTS_MILLISECONDS);
  const { loss, trimmed_uncommitted_row_count: trimmed = 0, possibly_lost_row_count: possibly = 0, unwatched_recreation_count: unwatched = 0 } = verdict;
  return html`<section aria-labelledby="losses"><h2 id="losses">Lost rows</h2>
    ${trimmed + unwatched === 0 ? html`<p>None, as far as this agent has seen.</p>` : html`<${Facts} facts=${[
      ["Trimmed before it had committed them", plural(trimmed, "row")],
      possibly > 0 && ["Of these it may have read", plural(possibly, "row")],
      unwatched > 0 && ["Not exact", "the queue was created again, and no agent had seen its last rows"],
      loss && ["Since", clock(loss.since)],
      loss && ["Until", clock(loss.until)],
      loss && ["Cause", words(loss.cause)],
      loss?.subject && ["Culprit", html`<bdi>${shorten(visible(loss.subject), 200)}</bdi>`],
      loss && ["In that time", plural(loss.row_count, "row")],
    ]} />`}
    ${history.value?.events.length > 0 && html`<h3>The last 90 days</h3><ul class="past">${history.value.events.map((one) => html`<li key=${one.id}><time datetime=${one.instant}>${clock(one.instant)}</time> <span class="tag">${words(one.kind)}</span> <bdi>${shorten(visible(one.reason || ""), 400)}</bdi></li>`)}</ul>`}
    ${history.value && html`<p><a href=${events}>All events of this consumer</a></p>`}</section>`;
}

const COLUMNS = [
  { key: "index", label: "Partition", numeric: true, value: (row) => row.index, show: (row) => exact(row.index) },
  { key: "verdict", label: "Verdict", value: (row) => severity(row.verdict || "unknown"), show: (row) => html`<${Verdict} verdict=${row.verdict || "unknown"} />` },
  { key: "unread", label: "Unread", numeric: true, value: unread, show: (row) => count(unread(row)) },
  { key: "behind", label: "Behind", numeric: true, value: (row) => row.processing_lag ?? null, show: (row) => duration(row.processing_lag == null ? null : row.processing_lag / 1000) },
  { key: "offset", label: "Offset", numeric: true, wide: true, value: (row) => row.next_row_index ?? null, show: (row) => exact(row.next_row_index) },
  { key: "read", label: "Read", numeric: true, wide: true, value: (row) => row.read_row_count_rate?.current ?? null, show: (row) => rate(row.read_row_count_rate?.current) },
  { key: "lost", label: "Trimmed uncommitted", numeric: true, wide: true, value: (row) => row.trimmed_uncommitted_row_count ?? null, show: (row) => count(row.trimmed_uncommitted_row_count) },
  { key: "why", label: "Why", wide: true, value: (row) => row.reason || null, show: (row) => html`<bdi class="cut">${shorten(visible(row.reason || row.error?.message || ""), 160)}</bdi>` },
];

function Partitions({ partitions, sort }) {
  const rows = partitions.map((one, index) => ({ ...one, index }));
  return html`<section aria-labelledby="partitions"><h2 id="partitions">Partitions</h2>
    <${Table} label="Partitions" columns=${COLUMNS} rows=${rows} keyOf=${(row) => row.index} sort=${sort} onSort=${(next) => refine({ partitions: next })}
      empty="The partitions are not known." /></section>`;
}
