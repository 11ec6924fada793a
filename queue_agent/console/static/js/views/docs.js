// The HTTP API, drawn from its OpenAPI document.

import { get } from "../api.js";
import { html } from "../lib.js";
import { Failure, useAnswer } from "../parts.js";

export function Docs() {
  const { value: document, error } = useAnswer((signal) => get("/api/v1/openapi.json", signal), []);
  if (!document) return html`<h1 tabindex="-1">HTTP API</h1>${error && html`<${Failure} error=${error} />`}`;
  return html`<h1 tabindex="-1">HTTP API <span class="quiet">of ${document.info.title} ${document.info.version}</span></h1>
    <p>The document itself is at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>, in OpenAPI ${document.openapi}.</p>
    ${Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => html`
      <${Operation} key=${method + path} path=${path} method=${method} operation=${operation} schemas=${document.components?.schemas || {}} />`))}`;
}

function Operation({ path, method, operation, schemas }) {
  const { parameters = [], responses = {}, requestBody: body } = operation;
  const plain = method === "get" && !path.includes("{");
  return html`<article class="card operation"><h2><span class=${`method ${method}`}>${method.toUpperCase()}</span> <code>${path}</code></h2>
    <p>${operation.summary} ${plain && !parameters.some((one) => one.required) && html`<a href=${path}>Ask</a>`}</p>
    ${operation.description && html`<p>${operation.description}</p>`}
    ${parameters.length > 0 && html`<div class="scroll" role="region" aria-label=${`Parameters of ${path}`} tabindex="0"><table><caption class="unseen">Parameters</caption>
      <thead><tr><th scope="col">Parameter</th><th scope="col">In</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
      <tbody>${parameters.map((one) => html`<tr key=${one.name}><td><code>${one.name}</code>${one.required && html` <span class="tag">required</span>`}</td><td>${one.in}</td><td>${typeOf(one.schema)}</td><td class="text">${one.description}</td></tr>`)}</tbody></table></div>`}
    ${body && html`<details><summary>Body</summary><${Content} content=${body.content} schemas=${schemas} /></details>`}
    ${Object.entries(responses).map(([status, answer]) => html`<details key=${status}><summary>${status}: ${answer.description}</summary><${Content} content=${answer.content} schemas=${schemas} /></details>`)}
  </article>`;
}

function Content({ content, schemas }) {
  return Object.entries(content || {}).map(([type, { schema }]) => html`<div key=${type}><p class="quiet">${type}</p><${Schema} schema=${schema} schemas=${schemas} depth=${0} /></div>`);
}

function resolve(schema, schemas) {
  return schema?.$ref ? { ...schemas[schema.$ref.split("/").at(-1)], called: schema.$ref.split("/").at(-1) } : schema || {};
}

function typeOf(schema) {
  if (!schema) return "any";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.oneOf) return schema.oneOf.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return [schema.type || "any"].flat().join(" or ");
}

function Schema({ schema, schemas, depth }) {
  const { description, properties, called, items } = resolve(schema, schemas);
  if (items && depth < 3) return html`<p>List of:</p><${Schema} schema=${items} schemas=${schemas} depth=${depth + 1} />`;
  return html`<p>${called && html`<strong>${called}</strong> `}${description || (properties ? "" : typeOf(schema))}</p>
    ${properties && html`<dl class="schema">${Object.entries(properties).map(([name, one]) => html`<div key=${name}>
      <dt><code>${name}</code> <span class="quiet">${typeOf(one)}</span></dt><dd>${one.description || resolve(one, schemas).description || ""}</dd></div>`)}</dl>`}`;
}
