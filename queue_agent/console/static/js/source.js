// The overview, kept up to date: the agent tells what is new or, where it cannot, is asked for all of it again.

import { all, get, offers, query, splitRef } from "./api.js";

const OVERVIEW = "/api/v1/overview";
const POLL_MILLISECONDS = 3000;
const RETRY_MILLISECONDS = 2000;
const POINTS = 30;
const SPARK_MILLISECONDS = 120000;

export const queueKey = (row) => `${row.cluster}:${row.path}`;
export const consumerKey = (row) =>
  `${row.cluster}:${row.path}\n${row.name || ""}\n${row.queue_cluster}:${row.queue_path}`;

export class OverviewSource {
  constructor() {
    this.state = { ready: false, live: false, error: null, queues: [], consumers: [], problems: [], missing: [] };
    this.listeners = new Set();
    this.queues = new Map();
    this.consumers = new Map();
    this.version = null;
    this.sparks = new Map();
    this.isStarted = false;
  }

  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // Runs as long as the page is open.
  start() {
    if (this.isStarted) return;
    this.isStarted = true;
    this.run();
  }

  async run() {
    try {
      if (await offers(OVERVIEW)) await this.follow();
      else this.poll();
    } catch (error) {
      this.fail(error, () => this.run());
    }
  }

  // Each answer is asked for when the last one has come; the agent answers when there is news.
  async follow() {
    for (;;) {
      const answer = await get(`${OVERVIEW}?${query({ since: this.version })}`);
      if (answer.full || this.version === null) this.replace(answer);
      else this.change(answer);
    }
  }

  async poll() {
    try {
      const [queues, consumers, alerts] = await Promise.all([
        all("/api/v1/queues", "queues"),
        all("/api/v1/consumers", "consumers"),
        get("/api/v1/alerts?limit=1000"),
      ]);
      this.replace({
        queues: queues.map((one) => this.queueRow(one)),
        consumers: consumers.flatMap((one) => this.consumerRows(one)),
        problems: alerts.alerts,
        missing: alerts.missing,
      });
      setTimeout(() => this.poll(), POLL_MILLISECONDS);
    } catch (error) {
      this.fail(error, () => this.poll());
    }
  }

  fail(error, again) {
    this.publish({ live: false, error: error.message });
    if (error.status === 401) {
      this.isStarted = false; // Whoever logs in has it started again.
      this.version = null;
      return;
    }
    setTimeout(again, RETRY_MILLISECONDS);
  }

  replace(overview) {
    const now = Date.now();
    this.version = overview.version ?? null;
    this.queues = new Map(overview.queues.map((row) => [queueKey(row), { ...row, drawn: now }]));
    this.consumers = new Map(overview.consumers.map((row) => [consumerKey(row), { ...row, drawn: now }]));
    const { problems = [], missing = [] } = overview;
    this.publish({ ready: true, live: true, error: null, problems, missing, ...this.lists() });
  }

  change(delta) {
    this.version = delta.version;
    for (const row of delta.queues || []) this.renew(this.queues, queueKey(row), row, row.rows);
    for (const row of delta.consumers || []) this.renew(this.consumers, consumerKey(row), row, row.lag_rows);
    for (const [kind, cluster, path, queueCluster, queuePath, name] of delta.gone || []) {
      if (kind === "queue") this.queues.delete(queueKey({ cluster, path }));
      else this.consumers.delete(consumerKey({ cluster, path, name, queue_cluster: queueCluster, queue_path: queuePath }));
    }
    const changed = {};
    for (const name of ["problems", "missing"]) if (delta[name]) changed[name] = delta[name];
    this.publish({ live: true, error: null, ...changed, ...this.lists() });
  }

  // Sparklines come once, and go on here.
  renew(rows, key, row, value) {
    const known = rows.get(key);
    const now = Date.now();
    const isNext = now - (known?.drawn ?? 0) >= SPARK_MILLISECONDS;
    const spark = isNext ? [...(known?.spark || []), value].slice(-POINTS) : known.spark;
    rows.set(key, { ...row, spark, drawn: isNext ? now : known.drawn });
  }

  lists() {
    return { queues: [...this.queues.values()], consumers: [...this.consumers.values()] };
  }

  publish(change) {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener(this.state);
  }

  // Points that this page has seen itself.
  spark(key, value) {
    const points = this.sparks.get(key) || [];
    points.push(value);
    if (points.length > POINTS) points.shift();
    this.sparks.set(key, points);
    return [...points];
  }

  queueRow({ cluster, path, overview, error }) {
    const figures = overview || {};
    return {
      cluster,
      path,
      verdict: error || figures.failed_partition_count > 0 ? "unreadable" : figures.alerts?.length ? "alerts" : "ok",
      partitions: figures.partition_count ?? null,
      write_rows_rate: figures.write_row_count_rate ?? null,
      write_bytes_rate: figures.write_data_weight_rate ?? null,
      rows: figures.row_count ?? null,
      bytes: figures.data_weight ?? null,
      consumers: figures.consumer_count ?? null,
      vital: figures.vital_consumer_count ?? null,
      exports: null,
      error: error ? error.message : null,
      spark: this.spark(`${cluster}:${path}`, figures.row_count ?? null),
    };
  }

  consumerRows({ cluster, path, name, overview, error }) {
    return (Array.isArray(overview) ? overview : []).map((entry) => {
      const queue = splitRef(entry.queue);
      const row = { cluster, path, name, queue_cluster: queue.cluster, queue_path: queue.path, vital: entry.vital };
      return {
        ...row,
        verdict: error ? "unreadable" : entry.verdict,
        sentence: error ? error.message : entry.reason,
        lag_rows: entry.unread_row_count ?? null,
        lag_time: entry.processing_lag == null ? null : entry.processing_lag / 1000,
        read_rows_rate: entry.read_row_count_rate ?? null,
        time_to_catch_up: entry.time_to_catch_up ?? null,
        time_to_loss: entry.time_to_loss ?? null,
        rows_trimmed_uncommitted: entry.trimmed_uncommitted_row_count ?? null,
        spark: this.spark(consumerKey(row), entry.unread_row_count ?? null),
      };
    });
  }
}
