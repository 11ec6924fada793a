// The page: the page asks the service again for every view; texts get into the document as texts only.

const CONFLICT = 409;
const ATTEMPTS = 5;
const FIRST_SHOWN = 500;
const PAGE = 100;

const main = document.getElementById("main");
const message = document.getElementById("message");
const userField = document.getElementById("user");
const mine = document.getElementById("mine");

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function say(text) {
  message.textContent = text;
  message.hidden = !text;
}

async function answer(response) {
  const said = await response.json();
  if (!response.ok) {
    throw Object.assign(new Error(said.error), { status: response.status });
  }
  return said;
}

async function get(method, parameters) {
  return answer(await fetch(`/${method}?${new URLSearchParams(parameters)}`));
}

// Who comes second in a conflict tries again, after a moment that grows and is never the same for two.
async function post(method, parameters) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await answer(await fetch(`/${method}`, { method: "POST", body: JSON.stringify(parameters) }));
    } catch (error) {
      if (error.status !== CONFLICT || attempt === ATTEMPTS) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt * Math.random()));
    }
  }
}

// Runs what a click or a submit means; a failure is shown, and nothing that was typed is lost.
async function attempt(action) {
  say("");
  try {
    await action();
  } catch (error) {
    say(error.message);
  }
}

function userName() {
  const name = userField.value.trim();
  if (!name) {
    userField.focus();
    throw new Error("Say who you are first.");
  }
  return name;
}

function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function about(comment) {
  const time = new Date(comment.update_time * 1000);
  const user = element("a", { href: `#/user/${encodeURIComponent(comment.user)}`, textContent: comment.user });
  const moment = element("time", { dateTime: time.toISOString(), textContent: time.toLocaleString() });
  const views = `seen ${counted(comment.view_count, "time")}`;
  return element("div", { className: "about" }, user, " · ", moment, " · ", views);
}

function text(comment, deleted = false) {
  return element("p", { className: "text", textContent: deleted ? "deleted" : comment.content });
}

function textForm(label, content, submit, cancel) {
  const area = element("textarea", { name: "content", required: true, maxLength: 100000, value: content });
  area.setAttribute("aria-label", label);
  const form = element("form", {}, area, element("button", { textContent: label }));
  if (cancel) {
    form.append(element("button", { type: "button", textContent: "Cancel", onclick: cancel }));
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    await attempt(() => submit(area.value));
    button.disabled = false;
  });
  return form;
}

function link(label, action) {
  return element("button", { type: "button", className: "link", textContent: label, onclick: () => attempt(action) });
}

async function showTopics(before = {}) {
  const topics = await get("last_topics", { limit: PAGE, ...before });
  const form = textForm("Begin a topic", "", async (content) => {
    const posted = await post("post_comment", { user: userName(), content });
    location.hash = `#/topic/${posted.topic_id}`;
  });
  const list = topics.map((topic) =>
    element(
      "article",
      { className: topic.content ? "topic" : "topic deleted" },
      text(topic, !topic.content),
      about(topic),
      element("a", { href: `#/topic/${topic.topic_id}`, textContent: "read" }),
    ),
  );
  main.replaceChildren(form, element("h2", { textContent: "Topics" }), ...list);
  if (!list.length) {
    main.append(before.to_topic ? "There are no older ones." : "There is none yet.");
  }
  if (list.length === PAGE) {
    const last = topics[PAGE - 1];
    main.append(link("Older topics", () => showTopics({ to_time: last.update_time, to_topic: last.topic_id })));
  }
}

// The service names the parent of a comment; the path follows from that, as parents come first.
function withPaths(comments) {
  const paths = new Map();
  return comments.map((comment) => {
    const above = paths.get(comment.parent_id);
    const path = comment.comment_id === comment.parent_id ? `${comment.comment_id}` : `${above}/${comment.comment_id}`;
    paths.set(comment.comment_id, path);
    return { ...comment, path, depth: path.split("/").length - 1 };
  });
}

function commentInTree(topicId, comment) {
  const place = { topic_id: topicId, parent_path: comment.path };
  const shown = element("article", { className: comment.deleted ? "comment deleted" : "comment" });
  shown.dataset.depth = comment.depth;
  shown.dataset.path = comment.path;
  shown.style.setProperty("--depth", comment.depth);
  const body = text(comment, comment.deleted);
  const actions = element("div");
  const openForm = (label, content, submit) => {
    shown.querySelector("form")?.remove();
    const form = textForm(label, content, submit, () => form.remove());
    shown.append(form);
    form.querySelector("textarea").focus();
  };
  actions.append(
    link("reply", () =>
      openForm("Reply", "", async (content) => {
        await post("post_comment", { ...place, user: userName(), content });
        await showTopic(topicId);
      }),
    ),
  );
  if (!comment.deleted) {
    actions.append(
      link("edit", () =>
        openForm("Save", comment.content, async (content) => {
          await post("edit_comment", { ...place, content });
          await showTopic(topicId);
        }),
      ),
      link("delete", async () => {
        await post("delete_comment", place);
        await showTopic(topicId);
      }),
    );
  }
  shown.append(body, about(comment), actions);
  return shown;
}

async function showTopic(topicId) {
  const comments = withPaths(await get("topic_comments", { topic_id: topicId }));
  const heading = element("h2", { textContent: counted(comments.length, "comment") });
  const show = (some) => some.map((comment) => commentInTree(topicId, comment));
  main.replaceChildren(heading, ...show(comments.slice(0, FIRST_SHOWN)));
  const rest = comments.slice(FIRST_SHOWN);
  if (rest.length) {
    const more = link(`show ${rest.length} more`, () => more.replaceWith(...show(rest)));
    main.append(more);
  }
}

async function showUser(user) {
  const comments = await get("last_user_comments", { user, limit: 100 });
  const list = comments.map((comment) =>
    element(
      "article",
      { className: "comment" },
      text(comment),
      about(comment),
      element("a", { href: `#/topic/${comment.topic_id}`, textContent: "to the topic" }),
    ),
  );
  main.replaceChildren(element("h2", { textContent: `Comments of ${user}` }), ...list);
  if (!list.length) {
    main.append("There is none yet.");
  }
}

async function route() {
  const [, view, argument] = location.hash.split("/");
  await attempt(async () => {
    if (view === "topic") {
      await showTopic(argument);
    } else if (view === "user") {
      await showUser(argument ? decodeURIComponent(argument) : userName());
    } else {
      await showTopics();
    }
  });
}

userField.value = localStorage.getItem("user") ?? "";
const remember = () => {
  localStorage.setItem("user", userField.value.trim());
  mine.href = `#/user/${encodeURIComponent(userField.value.trim())}`;
};
userField.addEventListener("input", remember);
remember();
window.addEventListener("hashchange", route);
route();
