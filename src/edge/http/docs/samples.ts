import type { ApiDocument, Operation } from './document.ts'
import { bodyExample, parameterExample, placeholder } from './example.ts'

/** Pages and programs replace it by the address of their server. */
export const SAMPLE_SERVER = 'http://localhost:8080'

/** A request as a client sends it. In its URL and in whole strings of its body `$NAME` is an environment variable. */
export interface SampleRequest {
  readonly method: string
  readonly url: string
  readonly isBasic: boolean
  /** The text of a JSON body; null: none. */
  readonly json: string | null
  /** The media type of a body that is a file; null: none. */
  readonly fileType: string | null
}

interface CodeSample {
  readonly language: string
  readonly code: string
}

export const samplesOf = (operation: Operation, document: ApiDocument): readonly CodeSample[] =>
  requestSamples(requestOf(operation, document))

/** The same request in each language, with nothing but what comes with it. */
export function requestSamples(request: SampleRequest): readonly CodeSample[] {
  return [
    { language: 'curl', code: curl(request) },
    { language: 'JavaScript', code: javascript(request) },
    { language: 'Python', code: python(request) },
    { language: 'Go', code: go(request) },
    { language: 'PHP', code: php(request) },
  ]
}

function requestOf(operation: Operation, document: ApiDocument): SampleRequest {
  const { method, body } = operation
  const isJson = body?.['application/json'] !== undefined
  return {
    method,
    url: SAMPLE_SERVER + samplePath(operation),
    isBasic: document.scheme === 'basic',
    json: body && isJson ? JSON.stringify(bodyExample(body, document.schemas), null, 2) : null,
    fileType: body && !isJson ? (Object.keys(body)[0] ?? null) : null,
  }
}

/** With the required parameters. What has no example is named in capitals: `TOKEN_ID`. */
function samplePath({ path, parameters }: Operation): string {
  const given = parameters.filter((parameter) => parameter.required === true)
  const query = given
    .filter((parameter) => parameter.in === 'query')
    .flatMap((parameter) => [parameterExample(parameter)].flat().map((value) => `${parameter.name}=${encode(value)}`))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const parameter = given.find((each) => each.name === name)
    return parameter ? encode(parameterExample(parameter)) : placeholder(name)
  })
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`
}

const encode = (value: unknown): string =>
  encodeURIComponent(String(value)).replaceAll('%2F', '/').replaceAll('%3A', ':')

const VARIABLES = /\$([A-Z][A-Z_]*)/g
const hasVariable = (text: string): boolean => text.search(VARIABLES) >= 0

/** A text in which each variable is replaced by what a language writes between two parts of a string. */
const withVariables = (text: string, between: (name: string) => string): string =>
  text.replaceAll(VARIABLES, (_all, name: string) => between(name))

/** JSON in which each string that is a variable is replaced by an expression. */
const withExpressions = (json: string, expression: (name: string) => string): string =>
  json.replaceAll(/"\$([A-Z][A-Z_]*)"/g, (_all, name: string) => expression(name))

/** Without the empty string that follows a variable at the end. */
const withoutEmpty = (code: string, empty: string): string =>
  code.endsWith(empty) ? code.slice(0, -empty.length) : code

function curl({ method, url, isBasic, json, fileType }: SampleRequest): string {
  const quoted = (text: string): string =>
    `'${withVariables(text.replaceAll("'", String.raw`'\''`), (name) => `'"$${name}"'`)}'`
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${hasVariable(url) ? `"${url}"` : quoted(url)}`,
    isBasic ? '-u "$CREDENTIAL"' : '-H "Authorization: Bearer $SECRET"',
    ...(json === null ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(json)}`]),
    ...(fileType === null ? [] : [`-H 'Content-Type: ${fileType}'`, '--data-binary @file']),
  ]
  return lines.join(' \\\n  ')
}

function javascript({ method, url, isBasic, json, fileType }: SampleRequest): string {
  const authorization = isBasic ? '`Basic ${btoa(process.env.CREDENTIAL)}`' : '`Bearer ${process.env.SECRET}`'
  const type = json === null ? fileType : 'application/json'
  const headers = [`Authorization: ${authorization}`, ...(type === null ? [] : [`'Content-Type': '${type}'`])]
  const environment = (name: string): string => `process.env.${name}`
  const address = hasVariable(url) ? `\`${withVariables(url, (name) => `\${${environment(name)}}`)}\`` : `'${url}'`
  const body =
    json === null ? "await readFile('file')" : `JSON.stringify(${withExpressions(indented(json, '  '), environment)})`
  return [
    ...(fileType === null ? [] : ["import { readFile } from 'node:fs/promises'", '']),
    `const response = await fetch(${address}, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    `  headers: { ${headers.join(', ')} },`,
    ...(type === null ? [] : [`  body: ${body},`]),
    '})',
    'console.log(response.status, await response.text())',
  ].join('\n')
}

function python({ method, url, isBasic, json, fileType }: SampleRequest): string {
  const type = json === null ? fileType : 'application/json'
  const value = withExpressions(indented(pythonic(json ?? ''), '    '), (name) => `os.environ["${name}"]`)
  const data = json === null ? 'open("file", "rb").read()' : `json.dumps(${value}).encode()`
  return [
    ...(isBasic ? ['import base64'] : []),
    ...(json === null ? [] : ['import json']),
    'import os',
    'from urllib.request import Request, urlopen',
    '',
    ...(isBasic ? ['credential = base64.b64encode(os.environ["CREDENTIAL"].encode()).decode()'] : []),
    'request = Request(',
    `    ${hasVariable(url) ? 'f' : ''}"${withVariables(url, (name) => `{os.environ['${name}']}`)}",`,
    `    method="${method}",`,
    '    headers={',
    `        "Authorization": ${isBasic ? 'f"Basic {credential}"' : `f"Bearer {os.environ['SECRET']}"`},`,
    ...(type === null ? [] : [`        "Content-Type": "${type}",`]),
    '    },',
    ...(type === null ? [] : [`    data=${data},`]),
    ')',
    'with urlopen(request) as response:',
    '    print(response.status, response.read().decode())',
  ].join('\n')
}

/** JSON with the names that Python has for its words. Words within strings stay. */
const pythonic = (json: string): string =>
  json.replaceAll(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (part) => PYTHON[part] ?? part)

const PYTHON: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' }

function go({ method, url, isBasic, json, fileType }: SampleRequest): string {
  const type = json === null ? fileType : 'application/json'
  const imports = ['fmt', 'io', 'net/http', 'os', ...(json === null && !isBasic ? [] : ['strings'])]
  const raw = withVariables(goRaw(json ?? ''), (name) => `\`+os.Getenv("${name}")+\``)
  const body = json === null ? (fileType === null ? 'nil' : 'file') : `strings.NewReader(\`${raw}\`)`
  const address = withoutEmpty(`"${withVariables(url, (name) => `"+os.Getenv("${name}")+"`)}"`, '+""')
  return [
    'package main',
    '',
    'import (',
    ...imports.map((name) => `\t"${name}"`),
    ')',
    '',
    'func main() {',
    ...(fileType === null ? [] : ['\tfile, err := os.Open("file")', ...GO_CHECK]),
    `\trequest, err := http.NewRequest("${method}", ${address}, ${body})`,
    ...GO_CHECK,
    ...(isBasic
      ? ['\tkey, secret, _ := strings.Cut(os.Getenv("CREDENTIAL"), ":")', '\trequest.SetBasicAuth(key, secret)']
      : ['\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("SECRET"))']),
    ...(type === null ? [] : [`\trequest.Header.Set("Content-Type", "${type}")`]),
    '\tresponse, err := http.DefaultClient.Do(request)',
    ...GO_CHECK,
    '\tdefer response.Body.Close()',
    '\ttext, err := io.ReadAll(response.Body)',
    ...GO_CHECK,
    '\tfmt.Println(response.StatusCode, string(text))',
    '}',
  ].join('\n')
}

const GO_CHECK = ['\tif err != nil {', '\t\tpanic(err)', '\t}']

/** A raw string of Go has no backtick. */
const goRaw = (json: string): string => json.replaceAll('`', String.raw`\u0060`)

function php({ method, url, isBasic, json, fileType }: SampleRequest): string {
  const type = json === null ? fileType : 'application/json'
  const authorization = isBasic
    ? "'Authorization: Basic ' . base64_encode(getenv('CREDENTIAL'))"
    : "'Authorization: Bearer ' . getenv('SECRET')"
  const variables = [...new Set((json ?? '').match(VARIABLES))]
  const values = variables.map((name) => `'${name}' => getenv('${name.slice(1)}')`)
  const text =
    values.length === 0
      ? ["$json = <<<'JSON'", json, 'JSON;']
      : ["$json = strtr(<<<'JSON'", json, `JSON, [${values.join(', ')}]);`]
  const address = withoutEmpty(`'${withVariables(url, (name) => `' . getenv('${name}') . '`)}'`, " . ''")
  return [
    '<?php',
    ...(json === null ? [] : text),
    '$context = stream_context_create([',
    "    'http' => [",
    `        'method' => '${method}',`,
    "        'header' => [",
    `            ${authorization},`,
    ...(type === null ? [] : [`            'Content-Type: ${type}',`]),
    '        ],',
    ...(json === null ? [] : ["        'content' => $json,"]),
    ...(fileType === null ? [] : ["        'content' => file_get_contents('file'),"]),
    "        'ignore_errors' => true,",
    '    ],',
    ']);',
    `echo file_get_contents(${address}, false, $context), "\\n";`,
  ].join('\n')
}

const indented = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`)
