// Requests to the agent that served this page.

const CSRF_HEADER = "X-CSRF-Token";
const ANSWER_MILLISECONDS = 25000; // longer than the agent waits for news, and than it looks for rows

export class ApiError extends Error {
  constructor(status, document) {
    super(sentence(document) || `The agent answered ${status}`);
    this.status = status;
    this.document = document;
  }
}

function sentence(error) {
  if (!error || typeof error.message !== "string") return "";
  const inner = (error.inner_errors || []).map(sentence).filter(Boolean);
  return [error.message, ...inner].join(": ");
}

async function ask(path, options = {}) {
  let response;
  let document = null;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
    document = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    // A SyntaxError is an answer that is no JSON: its status says it all.
    if (error.name !== "SyntaxError") throw new ApiError(0, { message: "The agent does not answer" });
  }
  if (response.status === 401) dispatchEvent(new Event("loggedout"));
  if (!response.ok) throw new ApiError(response.status, document);
  return document;
}

// A process that is stopped keeps its connections: nobody but the page can know that no answer will come.
function limited(signal) {
  const limit = AbortSignal.timeout(ANSWER_MILLISECONDS);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

export const get = (path, signal) => ask(path, { signal: limited(signal) });

let endpoints = null;

// Whether this agent has an endpoint, by its own description: asking in vain would fill the browser's log.
export async function offers(path) {
  endpoints ||= get("/api/v1/openapi.json").then((document) => Object.keys(document.paths));
  try {
    return (await endpoints).some((one) => one === path || one.startsWith(`${path}/`));
  } catch (error) {
    endpoints = null;
    throw error;
  }
}

export function post(path, body, csrf, signal) {
  const headers = { "Content-Type": "application/json" };
  if (csrf) headers[CSRF_HEADER] = csrf;
  return ask(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

export function remove(path, csrf) {
  return ask(path, { method: "DELETE", headers: csrf ? { [CSRF_HEADER]: csrf } : {} });
}

export function query(values) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, value);
  }
  return search.toString();
}

export const objectPath = (kind, cluster, path) =>
  `/api/v1/${kind}/${encodeURIComponent(cluster)}/${encodeURIComponent(path.replace(/^\/\//, ""))}`;

// Every page of a list.
export async function all(path, name, signal) {
  const found = [];
  let after = null;
  do {
    const page = await get(`${path}?${query({ overview: "true", limit: 1000, after })}`, signal);
    found.push(...page[name]);
    after = page.next;
  } while (after !== null);
  return found;
}

const NAMED = /^<"cluster"="([^"]*)";"queue_consumer_name"="((?:[^"\\]|\\.)*)";>(.*)$/s;

// `cluster://path`, or the rich path of a consumer in a table that holds several.
export function splitRef(ref) {
  const text = String(ref);
  const named = NAMED.exec(text);
  if (named) return { cluster: named[1], path: named[3], name: named[2].replace(/\\(.)/g, "$1") };
  const at = text.indexOf("://");
  return at < 0 ? { cluster: "", path: text } : { cluster: text.slice(0, at), path: text.slice(at + 1) };
}

export function joinRef({ cluster, path, name }) {
  if (!name) return `${cluster}:${path}`;
  return `<"cluster"="${cluster}";"queue_consumer_name"="${name.replace(/(["\\])/g, "\\$1")}";>${path}`;
}
