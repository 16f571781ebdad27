import { type ApiDocument, byTag, type Operation } from './document.ts'
import { described, html, Html } from './html.ts'

/** A document with the address of its overview, relative to `/api/docs/`. */
export interface Part {
  readonly name: string
  readonly home: string
  /** The address of the OpenAPI document, relative to `/api/docs/`. */
  readonly source: string
  readonly document: ApiDocument
}

export interface PageText {
  readonly title: string
  readonly main: Html
  /** What leads from the page to `/api/docs/`; relative, because a proxy may put a prefix in front. */
  readonly up: './' | './docs/'
  /** The operation that the page is about; null: the overview. */
  readonly operation: Operation | null
}

/** A whole page of the API reference. */
export function referencePage(part: Part, parts: readonly Part[], { title, main, up, operation }: PageText): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Sluice API ${part.document.version}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}reference.css">
${scriptAt(`${up}reference.js`)}
</head>
<body data-root="${up}../../">
<a class="skip" href="#main">To the content</a>
<header>
<p class="brand">Sluice <span>${part.document.version}</span></p>
<nav aria-label="Interfaces">${parts.map((each) => linkTo(each, each === part && operation === null, up))}</nav>
<p class="files"><a href="${up}../../docs/">Documentation</a>
<a href="${up}${part.source}">OpenAPI</a> <a href="${up}postman.json" download>Postman</a></p>
</header>
<div class="columns">
${menuOf(part.document, up, operation)}
<main id="main">
${main}
</main>
</div>
</body>
</html>
`.text
}

/** No tagged template: bundlers take those apart that have the end of a script in them, and need a package for it. */
const scriptAt = (address: string): Html => new Html(`<script src="${address}" defer></script>`)

/** The relative address of an overview: its page has no slash at its end. */
const linkTo = ({ name, home }: Part, isCurrent: boolean, up: string): Html =>
  html`<a href="${up}${home}"${isCurrent ? CURRENT : null}>${name}</a> `

const CURRENT = html` aria-current="page"`

function menuOf({ operations }: ApiDocument, up: string, current: Operation | null): Html {
  const groups = byTag(operations).map(
    ([tag, members]) => html`<section>
<h2>${capital(tag)}</h2>
<ul>
${members.map((member) => menuItem(member, up, member === current))}</ul>
</section>
`,
  )
  return html`<nav class="menu" aria-label="Operations">
<details open>
<summary>Operations</summary>
<label>Find <input type="search" id="find" autocomplete="off"></label>
${groups}</details>
</nav>`
}

const menuItem = ({ id, method, summary }: Operation, up: string, isCurrent: boolean): Html =>
  html`<li><a href="${up}${id}"${isCurrent ? CURRENT : null}>${methodBadge(method)} ${described(shortened(summary))}</a></li>\n`

export const methodBadge = (method: string): Html =>
  html`<span class="${method === 'DELETE' ? 'method delete' : 'method'}">${method}</span>`

/** What the operation does, without its conditions: up to a colon or semicolon outside of parentheses. */
const shortened = (summary: string): string => /^(?:\([^)]*\)|[^;:(])*/.exec(summary)?.[0] ?? summary

export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)
