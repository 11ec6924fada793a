// Puts the page together: head, view of the address, and what is kept up to date for all views.

import { plural } from "./format.js";
import { html, render, useEffect, useRef, useState } from "./lib.js";
import { Announcer, Failure } from "./parts.js";
import { listen, place, start } from "./router.js";
import { loadSession, LoginView, Who } from "./session.js";
import { OverviewSource } from "./source.js";
import { Agents } from "./views/agents.js";
import { Consumer } from "./views/consumer.js";
import { Docs } from "./views/docs.js";
import { Events } from "./views/events.js";
import { Overview } from "./views/overview.js";
import { Queue } from "./views/queue.js";
import { Rows } from "./views/rows.js";

const VIEWS = { overview: Overview, queue: Queue, consumer: Consumer, rows: Rows, agents: Agents, events: Events, docs: Docs, login: LoginView };
const NAMES = { overview: "Overview", agents: "Agents", events: "Events", docs: "API", login: "Log in" };
const ADDRESSES = { overview: "/", agents: "/ui/agents", events: "/ui/events", docs: "/docs" };
const THEMES = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" };
const NEEDS_OBJECT = new Set(["queue", "consumer", "rows"]);

const source = new OverviewSource();

function Console() {
  const [where, setWhere] = useState(place());
  const [overview, setOverview] = useState(source.state);
  const [session, setSession] = useState(undefined); // null: the agent does not tell
  const main = useRef(null);
  useEffect(() => source.subscribe(setOverview), []);
  useEffect(() => {
    const look = () => loadSession().then(setSession);
    look();
    // A session that has ended is found out by the first request that needs it.
    addEventListener("loggedout", look);
    return () => removeEventListener("loggedout", look);
  }, []);
  const isShown = session === null || session?.may.status === true;
  useEffect(() => {
    if (isShown) source.start();
  }, [isShown]);
  useEffect(
    () =>
      listen((next, isNew) => {
        setWhere(next);
        if (isNew) scrollTo(0, 0);
        // Readers of screens begin where the new view begins.
        if (isNew) requestAnimationFrame(() => main.current?.focus());
      }),
    [],
  );
  const { name, parameters } = where;
  useEffect(() => {
    document.title = titleOf(where, overview);
  }, [where, overview.problems.length]);
  const View = isShown || name === "docs" ? VIEWS[name] : LoginView;
  const isBlank = NEEDS_OBJECT.has(name) && !(parameters.cluster && parameters.path);
  return html`<a class="skip" href="#main">To the content</a>
    <${Head} name=${name} overview=${overview} session=${session} onSession=${setSession} />
    <main id="main" ref=${main} tabindex="-1">
      ${name === "overview" && html`<h1 class="unseen">Overview</h1>`}
      ${session === undefined ? html`<p class="quiet">Asking the agent…</p>` : !View || isBlank ? html`<h1>Not here</h1><${Failure} error="There is no such view." /><p><a href="/">To the overview</a></p>`
        : html`<${View} key=${keyOf(where)} overview=${overview} parameters=${parameters} session=${session} onSession=${setSession} />`}
    </main>
    <${Announcer} text=${overview.ready ? plural(overview.problems.length, "problem") : ""} />`;
}

// Views of other objects are other views; the same one with other words is not.
const keyOf = ({ name, parameters: at }) => [name, at.cluster, at.path, at.name, at.queue_cluster, at.queue_path].join("\n");

function titleOf({ name, parameters }, overview) {
  const about = NEEDS_OBJECT.has(name) ? (parameters.path || "").slice(-60) : NAMES[name] || "Not here";
  const number = overview.problems.length;
  return `${number ? `(${number}) ` : ""}${about} – Queue Agent`;
}

function Head({ name, overview, session, onSession }) {
  return html`<header>
    <a class="brand" href="/">Queue Agent</a>
    <nav aria-label="Views"><ul>${Object.entries(ADDRESSES).map(([view, href]) => html`<li key=${view}>
      <a href=${href} aria-current=${view === name ? "page" : null}>${NAMES[view]}</a></li>`)}</ul></nav>
    <span class=${`pulse ${overview.live ? "live" : "dead"}`} role="status">${overview.live ? "live" : overview.error || "connecting"}</span>
    <${Who} session=${session} onSession=${onSession} />
    <${Theme} />
  </header>`;
}

function Theme() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme || "");
  const next = () => {
    const names = Object.keys(THEMES);
    const chosen = names[(names.indexOf(theme) + 1) % names.length];
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      // Storage is refused: the choice holds until the page is left.
    }
    setTheme(chosen);
    dispatchEvent(new Event("themechange"));
  };
  return html`<button type="button" class="small" id="theme" onClick=${next}>${THEMES[theme]}</button>`;
}

start();
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${Console} />`, root);
