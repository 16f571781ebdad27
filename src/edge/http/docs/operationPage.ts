import type { Answer, ApiDocument, Operation, Parameter } from './document.ts'
import { answerExample, bodyExample } from './example.ts'
import { parameterFields, schemaFields } from './fields.ts'
import { described, html, type Html } from './html.ts'
import { methodBadge } from './page.ts'
import { samplesOf } from './samples.ts'

/** What an operation takes and answers, its samples, and a form that sends it. */
export function operationText(operation: Operation, document: ApiDocument, hasDashboard: boolean): Html {
  const { method, path, summary, isDeprecated } = operation
  return html`<h1>${described(summary)}</h1>
<p class="address">${methodBadge(method)} <code>${path}</code></p>
${isDeprecated ? html`<p class="note">Deprecated: it works as before, and something else replaces it.</p>` : null}
<div class="sides">
<div>
${takes(operation, document)}
${answersOf(operation, document)}
</div>
<div class="samples">
${samplesText(operation, document)}
${tryText(operation, document, hasDashboard)}
</div>
</div>`
}

function takes({ parameters, body }: Operation, { schemas }: ApiDocument): Html {
  const groups = (['path', 'query'] as const).map((part) => ({
    part,
    members: parameters.filter((parameter) => parameter.in === part),
  }))
  const lists = groups
    .filter(({ members }) => members.length > 0)
    .map(({ part, members }) => html`<h2 id="${part}">In the ${part}</h2>\n${parameterFields(members, schemas)}\n`)
  return html`${lists}${body === null ? null : html`<h2 id="body">Body</h2>\n${bodyFields(body, schemas)}`}`
}

function bodyFields(body: NonNullable<Operation['body']>, schemas: ApiDocument['schemas']): Html {
  const schema = body['application/json']?.schema
  if (schema) return schemaFields(schema, schemas, 'sent')
  const [file] = Object.values(body)
  const types = Object.keys(body).map((type) => html`<code>${type}</code> `)
  return html`<p>${types}</p><p>${described(file?.schema?.description ?? 'A file.')}</p>`
}

function answersOf({ answers }: Operation, document: ApiDocument): Html {
  const sections = Object.entries(answers).map(([status, answer]) => answerText(status, answer, document))
  return html`<h2 id="answers">Answers</h2>\n${sections}`
}

function answerText(status: string, { description = '', content = {}, headers = {} }: Answer, document: ApiDocument) {
  const isSuccess = status.startsWith('2')
  const schema = content['application/json']?.schema
  const example = schema && isSuccess ? JSON.stringify(answerExample(schema, document.schemas), null, 2) : null
  const others = Object.keys(content).filter((type) => type !== 'application/json')
  return html`<details${isSuccess ? html` open` : null}>
<summary><code>${status}</code> ${described(description === 'Default Response' ? '' : description)}</summary>
${Object.entries(headers).map(([name, { description: text = '' }]) => html`<p><code>${name}</code>: ${described(text)}</p>`)}
${others.map((type) => html`<p>Also as <code>${type}</code>, for <code>Accept: ${type}</code>.</p>`)}
${schema ? schemaFields(schema, document.schemas, 'answered') : null}
${example === null ? null : html`<h3>Example</h3>${codeBlock(example, 'Example of the answer', 'answer')}`}
</details>
`
}

function samplesText(operation: Operation, document: ApiDocument): Html {
  const samples = samplesOf(operation, document).map(
    ({ language, code }) => html`<section data-language="${language}">
<h3>${language}</h3>
${codeBlock(code, `Sample in ${language}`, 'sample')}
</section>
`,
  )
  return html`<h2 id="samples">Samples</h2>\n<div id="languages">\n${samples}</div>`
}

/** It scrolls, so the keyboard must reach it. */
const codeBlock = (code: string, label: string, kind: string): Html =>
  html`<pre class="${kind}" tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre>`

function tryText(operation: Operation, document: ApiDocument, hasDashboard: boolean): Html {
  const { method, path, parameters, body } = operation
  const isBasic = document.scheme === 'basic'
  const session = hasDashboard
    ? html`<label><input type="radio" name="as" value="session" checked> My session in the dashboard</label>`
    : null
  return html`<h2 id="try">Try it</h2>
<form id="request" data-method="${method}" data-path="${path}" data-scheme="${document.scheme}" hidden>
<fieldset><legend>Send as</legend>
${session}
<label><input type="radio" name="as" value="secret"${hasDashboard ? null : html` checked`}> ${isBasic ? 'A credential' : 'An API secret'}</label>
<label>${isBasic ? 'Credential, key:secret' : 'API secret'}
<input type="password" id="secret" autocomplete="off" spellcheck="false"></label>
</fieldset>
${parameters.map(input)}
${body === null ? null : bodyInput(body, document)}
<button type="submit">Send ${method}</button>
</form>
<div id="result" role="status" hidden></div>
<noscript><p>To send requests from here, allow JavaScript.</p></noscript>`
}

function input({ name, in: part, required = false, schema }: Parameter): Html {
  const isNeeded = required ? html` required` : null
  const label = html`${name}${required ? null : html` <span class="type">optional</span>`}`
  const values = schema.enum ?? (schema.type === 'boolean' ? [true, false] : null)
  const options = values?.map((value) => html`<option>${String(value)}</option>`)
  const field = options
    ? html`<select name="${name}" data-in="${part}"${isNeeded}>${required ? null : html`<option></option>`}${options}</select>`
    : html`<input name="${name}" data-in="${part}" data-type="${String(schema.type ?? 'string')}"${isNeeded}>`
  const hint = schema.type === 'array' ? html` <span class="type">separated by commas</span>` : null
  return html`<label>${label}${hint}\n${field}</label>\n`
}

function bodyInput(body: NonNullable<Operation['body']>, { schemas }: ApiDocument): Html {
  const isJson = body['application/json'] !== undefined
  if (!isJson)
    return html`<label>File <input type="file" id="file" accept="${Object.keys(body).join(',')}" required></label>`
  const text = JSON.stringify(bodyExample(body, schemas), null, 2)
  return html`<label>Body, JSON
<textarea id="json" rows="${Math.min(text.split('\n').length + 1, 20)}" spellcheck="false">${text}</textarea></label>`
}
