import { byTag } from './document.ts'
import { described, html, type Html } from './html.ts'
import { capital, methodBadge, type Part } from './page.ts'

const HOW_TO = {
  basic: html`<p>Send a credential as <code>Authorization: Basic</code>, the Base64 of <code>KEY:SECRET</code>. To make one:
<code>sluice credential create --name NAME</code>, or Settings in the dashboard.</p>`,
  bearer: html`<p>Send an API secret as <code>Authorization: Bearer SECRET</code>. To make one:
<code>sluice secret create --name NAME</code>, or Settings in the dashboard.</p>`,
}

/** What every operation of an interface shares, and a table of them. */
export function overviewText({ document }: Part, up: string): Html {
  const { title, description, operations, scheme } = document
  const tables = byTag(operations).map(
    ([tag, members]) => html`<h2 id="${tag.replaceAll(' ', '-')}">${capital(tag)}</h2>
<table>
<thead><tr><th>Operation</th><th>Request</th></tr></thead>
<tbody>
${members.map(
  ({ id, method, path, summary }) =>
    html`<tr><td><a href="${up}${id}">${described(summary)}</a></td><td>${methodBadge(method)} <code>${path}</code></td></tr>\n`,
)}</tbody>
</table>
`,
  )
  return html`<h1>${capital(title.replace('Sluice ', ''))}</h1>
<p>${description}</p>
${scheme === 'basic' ? HOW_TO.basic : HOW_TO.bearer}
<p>Every page has the request in curl, JavaScript, Python, Go and PHP, and a form that sends it. In the samples
<code>${scheme === 'basic' ? 'CREDENTIAL' : 'SECRET'}</code> comes from the environment.</p>
${tables}`
}
