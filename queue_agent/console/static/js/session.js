// Who is looking, and what they may do.

import { get, offers, post, remove } from "./api.js";
import { shorten, visible } from "./format.js";
import { html, useState } from "./lib.js";
import { Failure } from "./parts.js";

const SESSION = "/api/v1/session";

// null: this agent knows no sessions, and allows what everybody may do.
export async function loadSession() {
  try {
    return (await offers(SESSION)) ? await get(SESSION) : null;
  } catch {
    return null; // The head of the page says that the agent does not answer.
  }
}

export function Login({ session, onSession, cluster = "" }) {
  const [token, setToken] = useState("");
  const [where, setWhere] = useState(cluster);
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
  if (session.user) return html`<p class="quiet">You are <bdi>${shorten(visible(session.user), 80)}</bdi>, and configuration does not allow this.</p>`;
  return html`<form class="login" onSubmit=${enter}>
    <p>Log in with your YTsaurus token. The agent keeps it in memory, as long as you are here.</p>
    <label>Cluster <input id="login-cluster" value=${where} required onInput=${(event) => setWhere(event.target.value)} /></label>
    <label>Token <input id="login-token" type="password" autocomplete="off" value=${token} required onInput=${(event) => setToken(event.target.value)} /></label>
    <button type="submit" id="login">Log in</button>
    ${error && html`<${Failure} error=${error} />`}
  </form>`;
}

export function Who({ session, onSession }) {
  if (!session?.user) return null;
  const leave = async () => {
    await remove(SESSION, session.csrf).catch(() => null);
    onSession(await loadSession());
  };
  return html`<span class="who"><bdi>${shorten(visible(session.user), 40)}</bdi>
    ${session.login === "token" && html` <button type="button" class="small" onClick=${leave}>Log out</button>`}</span>`;
}
