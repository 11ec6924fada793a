// Addresses of views. What a view shows is in its address, so that every view can be sent to somebody.

import { query } from "./api.js";

const listeners = new Set();

export function place() {
  const path = location.pathname.replace(/\/+$/, "");
  const name = path === "" || path === "/ui" ? "overview" : path === "/docs" ? "docs" : path.replace(/^\/ui\//, "");
  return { name, parameters: Object.fromEntries(new URLSearchParams(location.search)) };
}

export function address(name, parameters = {}) {
  const search = query(parameters);
  const path = name === "overview" ? "/" : name === "docs" ? "/docs" : `/ui/${name}`;
  return search ? `${path}?${search}` : path;
}

export function go(href) {
  history.pushState(null, "", href);
  announce(true);
}

// The same view with other words in its address: no step back for each letter typed.
export function refine(changes) {
  const { name, parameters } = place();
  history.replaceState(null, "", address(name, { ...parameters, ...changes }));
  announce(false);
}

export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function announce(isNew) {
  for (const listener of listeners) listener(place(), isNew);
}

function followLink(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.origin !== location.origin || link.hasAttribute("download")) return;
  if (!/^\/(ui(\/|$)|docs$|$)/.test(link.pathname) || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  go(link.pathname + link.search);
}

export function start() {
  addEventListener("popstate", () => announce(true));
  document.addEventListener("click", followLink);
}

export const queueAddress = ({ cluster, path }) => address("queue", { cluster, path });

export const consumerAddress = ({ cluster, path, name, queue_cluster, queue_path }) =>
  address("consumer", { cluster, path, name, queue_cluster, queue_path });
