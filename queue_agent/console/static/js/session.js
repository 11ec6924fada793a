// Who is looking, and what they may do.

import { get, post, remove } from "./api.js";
import { shorten, visible } from "./format.js";
import { html, useState } from "./lib.js";
import { Failure } from "./parts.js";

const SESSION = "/api/v1/session";

// null: the agent does not answer, which the head of the page says, too.
export async function loadSession() {
  try {
    return await get(SESSION);
  } catch {
    return null;
  }
}

// Whether somebody may look at rows of a cluster: with tokens, each cluster wants its own.
export const mayRead = (session, cluster) => session.may.rows && (session.login !== "token" || cluster in session.logins);

export function Login({ session, onSession, cluster = "" }) {
  const [token, setToken] = useState("");
  const [where, setWhere] = useState(session.clusters.includes(cluster) ? cluster : session.clusters[0]);
  const [error, setError] = useState(null);
  const enter = async (event) => {
    event.preventDefault();
    try {
      onSession(await post(SESSION, { token, cluster: where }, session.csrf));
      setToken("");
      setError(null);
    } catch (failed) {
      setError(failed);
    }
  };
  if (session.login === "none") return html`<p class="quiet">Configuration does not allow this.</p>`;
  if (session.login === "header") return html`<p class="quiet">The proxy in front of this agent has to say who you are.</p>`;
  return html`<form class="login" onSubmit=${enter}>
    <p>Log in with your YTsaurus token. The agent keeps it in memory until you log out, or for some hours.</p>
    <label>Cluster <select id="login-cluster" value=${where} onChange=${(event) => setWhere(event.target.value)}>
      ${session.clusters.map((one) => html`<option key=${one} value=${one}>${shorten(visible(one), 80)}</option>`)}</select></label>
    <label>Token <input id="login-token" type="password" autocomplete="off" value=${token} required onInput=${(event) => setToken(event.target.value)} /></label>
    <button type="submit" id="login">Log in</button>
    ${error && html`<${Failure} error=${error} />`}
  </form>`;
}

// A view of its own, and what those see to whom nothing else is shown.
export function LoginView({ session, onSession }) {
  if (!session) return html`<h1 tabindex="-1">Log in</h1><p class="quiet">Asking the agent…</p>`;
  const known = Object.entries(session.logins);
  return html`<h1 tabindex="-1">Log in</h1>
    ${known.map(([cluster, user]) => html`<p key=${cluster}>You are <bdi>${shorten(visible(user), 80)}</bdi> on <bdi>${shorten(visible(cluster), 80)}</bdi>.</p>`)}
    <${Login} session=${session} onSession=${onSession} />`;
}

export function Who({ session, onSession }) {
  if (!session) return null;
  if (!session.user) return session.login === "token" ? html`<a class="who" href="/ui/login">Log in</a>` : null;
  const leave = async () => {
    await remove(SESSION, session.csrf).catch(() => null);
    onSession(await loadSession());
  };
  return html`<span class="who"><bdi>${shorten(visible(session.user), 40)}</bdi>
    ${session.login === "token" && html` <button type="button" class="small" id="logout" onClick=${leave}>Log out</button>`}</span>`;
}
