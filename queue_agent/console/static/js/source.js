// The overview, kept up to date: by a stream of changes, or by asking again where an agent has no stream.

import { all, get, offers, query, splitRef } from "./api.js";

const OVERVIEW = "/api/v1/overview";
const POLL_MILLISECONDS = 3000;
const RETRY_MILLISECONDS = 2000;
const POINTS = 30;

export const queueKey = (row) => `${row.cluster}:${row.path}`;
export const consumerKey = (row) =>
  `${row.cluster}:${row.path}\n${row.name || ""}\n${row.queue_cluster}:${row.queue_path}`;

export class OverviewSource {
  constructor() {
    this.state = { ready: false, live: false, error: null, queues: [], consumers: [], problems: [], agents: [], unreachable: [] };
    this.listeners = new Set();
    this.queues = new Map();
    this.consumers = new Map();
    this.version = null;
    this.sparks = new Map();
  }

  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // Runs as long as the page is open.
  async start() {
    try {
      if (!(await offers(OVERVIEW))) {
        this.poll();
        return;
      }
      this.replace(await get(OVERVIEW));
      this.follow();
    } catch (error) {
      this.fail(error, () => this.start());
    }
  }

  follow() {
    const stream = new EventSource(`${OVERVIEW}/stream?${query({ since: this.version })}`);
    stream.addEventListener("open", () => this.publish({ live: true, error: null }));
    stream.addEventListener("full", (event) => this.replace(JSON.parse(event.data)));
    stream.addEventListener("delta", (event) => this.change(JSON.parse(event.data)));
    stream.addEventListener("error", () => {
      stream.close();
      this.fail(new Error("The agent does not answer"), () => this.start());
    });
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
      });
      setTimeout(() => this.poll(), POLL_MILLISECONDS);
    } catch (error) {
      this.fail(error, () => this.poll());
    }
  }

  fail(error, again) {
    this.publish({ live: false, error: error.message });
    setTimeout(again, RETRY_MILLISECONDS);
  }

  replace(overview) {
    this.version = overview.version ?? null;
    this.queues = new Map(overview.queues.map((row) => [queueKey(row), row]));
    this.consumers = new Map(overview.consumers.map((row) => [consumerKey(row), row]));
    const { problems = [], agents = [], unreachable = [] } = overview;
    this.publish({ ready: true, live: true, error: null, problems, agents, unreachable, ...this.lists() });
  }

  change(delta) {
    this.version = delta.version;
    for (const row of delta.queues || []) this.queues.set(queueKey(row), row);
    for (const row of delta.consumers || []) this.consumers.set(consumerKey(row), row);
    for (const [kind, cluster, path, queueCluster, queuePath, name] of delta.gone || []) {
      if (kind === "queue") this.queues.delete(queueKey({ cluster, path }));
      else this.consumers.delete(consumerKey({ cluster, path, name, queue_cluster: queueCluster, queue_path: queuePath }));
    }
    const changed = {};
    for (const name of ["problems", "agents", "unreachable"]) if (delta[name]) changed[name] = delta[name];
    this.publish({ live: true, error: null, ...changed, ...this.lists() });
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
        rows_lost: entry.lost_row_count ?? null,
        spark: this.spark(consumerKey(row), entry.unread_row_count ?? null),
      };
    });
  }
}
