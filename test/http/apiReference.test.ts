import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Check } from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAst } from 'vitest/node'
import { type ApiDocument, type Operation, readDocument } from '../../src/edge/http/docs/document.ts'
import { answerExample, bodyExample, parameterExample } from '../../src/edge/http/docs/example.ts'
import { SAMPLE_SERVER, samplesOf } from '../../src/edge/http/docs/samples.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { installedPrograms, isInstalled } from '../support/samplePrograms.ts'

const documentOf = (name: string): ApiDocument =>
  readDocument(JSON.parse(readFileSync(new URL(`../../api/${name}.openapi.json`, import.meta.url), 'utf8')))
const DOCUMENTS = [documentOf('tokens'), documentOf('channels')]
const OPERATIONS = DOCUMENTS.flatMap((document) => document.operations.map((operation) => ({ operation, document })))

const LANGUAGES = ['curl', 'JavaScript', 'Python', 'Go', 'PHP']

let client: ChannelsClient
let base: string
let folder: string
beforeAll(async () => {
  // No answer needs ffmpeg, and the doctor would try its encoders.
  client = await runChannels({ flags: { ffmpeg: { path: '/nowhere/ffmpeg' } } })
  base = client.running.base
  folder = mkdtempSync(join(tmpdir(), 'sluice-samples-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await client.close()
})

const pageOf = async (path: string): Promise<string> => (await fetch(base + path)).text()

describe('the pages', () => {
  it.each(['/api/docs', '/api/docs/channels', '/api/docs/createPublishToken', '/api/docs/createChannel'])(
    '%s names no other host and has nothing inline, and each of its links leads somewhere, also behind a path prefix',
    async (path) => {
      const answer = await fetch(base + path)
      const page = await answer.text()
      expect(answer.headers.get('content-type')).toContain('text/html')
      expect(
        page.replaceAll(SAMPLE_SERVER, '').replaceAll(/<pre.*?<\/pre>|<textarea.*?<\/textarea>/gs, ''),
      ).not.toMatch(/src="\/|href="\/|<script>|<style| style=| on\w+=/)
      const policy = answer.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
      expect(policy).not.toMatch(/unsafe|http|\*|sha/)
      const named = new Set([...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, address = '']) => address))
      for (const address of named) {
        if (address === 'data:,') continue
        expect(address).toMatch(/^\./)
        const { pathname } = new URL(address, `http://host${path}`)
        expect([address, (await fetch(base + pathname, { method: 'HEAD' })).status]).toEqual([address, 200])
      }
    },
  )

  it('there is one for each operation, with its samples and a form', async () => {
    for (const { operation } of OPERATIONS) {
      const page = await pageOf(`/api/docs/${operation.id}`)
      const languages = [...page.matchAll(/data-language="(\w+)"/g)].map(([, language]) => language)
      expect([operation.id, languages]).toEqual([operation.id, LANGUAGES])
      expect(page).toContain(`data-method="${operation.method}" data-path="${operation.path}"`)
    }
    expect(OPERATIONS.length).toBeGreaterThan(150)
  })

  it('the overviews list every operation once', async () => {
    for (const [at, path] of ['/api/docs', '/api/docs/channels'].entries()) {
      const main = (await pageOf(path)).split('<main')[1] ?? ''
      const listed = [...main.matchAll(/<td><a href="[^"]*\/(\w+)"/g)].map(([, id = '']) => id)
      expect(listed.toSorted()).toEqual((DOCUMENTS[at]?.operations ?? []).map(({ id }) => id).toSorted())
    }
  })

  it('an operation that does not exist is answered with 404', async () => {
    expect((await fetch(`${base}/api/docs/readNothing`)).status).toBe(404)
  })
})

/** The schema with what it refers to in place of the references. */
function whole(schema: unknown, { schemas }: ApiDocument): unknown {
  if (Array.isArray(schema)) return schema.map((one) => whole(one, { schemas } as ApiDocument))
  if (typeof schema !== 'object' || schema === null) return schema
  const { $ref, ...rest } = schema as { $ref?: string }
  if ($ref !== undefined) return whole(schemas[$ref.split('/').at(-1) ?? ''], { schemas } as ApiDocument)
  return Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, whole(one, { schemas } as ApiDocument)]))
}

/** The examples of an operation: its body, what it needs in path and query, and its answer. */
function examplesOf({ body, parameters, answers }: Operation, { schemas }: ApiDocument) {
  const ofBody = body?.['application/json']?.schema
  const success = Object.entries(answers).find(([status]) => status.startsWith('2'))?.[1]
  const ofAnswer = success?.content?.['application/json']?.schema
  return [
    ...(body && ofBody ? [{ schema: ofBody, value: bodyExample(body, schemas) }] : []),
    ...parameters.map((parameter) => ({ schema: parameter.schema, value: parameterExample(parameter) })),
    ...(ofAnswer ? [{ schema: ofAnswer, value: answerExample(ofAnswer, schemas) }] : []),
  ]
}

describe('the examples', () => {
  it('pass the schemas of bodies, needed parameters and answers', () => {
    const wrong = OPERATIONS.flatMap(({ operation, document }) => {
      const needed = { ...operation, parameters: operation.parameters.filter(({ required }) => required) }
      return examplesOf(needed, document)
        .filter(({ schema, value }) => !Check(whole(schema, document) as object, value))
        .map(({ value }) => `${operation.id}: ${JSON.stringify(value)}`)
    })
    expect(wrong).toEqual([])
  })

  it('are requests that the server understands: it refuses only names of things that it does not have', async () => {
    const refused: string[] = []
    for (const { operation, document } of OPERATIONS) {
      if (operation.body && !operation.body['application/json']) continue
      const answer = await sent(codeOf(operation, document, 'JavaScript'))
      const text = await answer.text()
      const isUnknown = /there is no channel|Stream name \S+ not found|no node has a region/.test(text)
      if ((answer.status === 400 && !isUnknown) || answer.status >= 500)
        refused.push(`${operation.id}: ${answer.status} ${text}`)
    }
    expect(refused).toEqual([])
  })
})

const AsyncFunction = (async () => {}).constructor as new (...code: string[]) => (...given: unknown[]) => Promise<void>

/** The answer to the request of a sample in JavaScript, which runs here. */
async function sent(code: string): Promise<Response> {
  let answer: Response | undefined
  const fetched = async (...given: Parameters<typeof fetch>) => (answer = await fetch(...given)).clone()
  await new AsyncFunction('fetch', 'process', 'console', code)(fetched, { env: secrets() }, { log: () => undefined })
  return answer!
}

const secrets = () => ({
  SECRET: client.running.secret,
  CREDENTIAL: Buffer.from(client.authorization.replace('Basic ', ''), 'base64').toString(),
})

/** A sample that asks the server of this test. */
const codeOf = (operation: Operation, document: ApiDocument, language: string): string =>
  (samplesOf(operation, document).find((sample) => sample.language === language)?.code ?? '').replaceAll(
    SAMPLE_SERVER,
    base,
  )

/** Writes every sample of a language into a folder of its own, and returns the files. */
function written(language: string, extension: string): string[] {
  const own = mkdtempSync(join(folder, `${extension}-`))
  return OPERATIONS.map(({ operation, document }) => {
    const file = join(own, `${operation.id}.${extension}`)
    writeFileSync(file, `${codeOf(operation, document, language)}\n`)
    return file
  })
}

const run = promisify(execFile)

describe('the samples', () => {
  if (isInstalled('bash'))
    it('in curl are commands of a shell', async () => {
      const all = written('curl', 'sh').map((file) => `{ ${readFileSync(file, 'utf8')} }`)
      const file = join(folder, 'all.sh')
      writeFileSync(file, all.join('\n'))
      await run('bash', ['-n', file])
    })

  it('in JavaScript are modules', () => {
    for (const file of written('JavaScript', 'mjs')) expect(() => parseAst(readFileSync(file, 'utf8'))).not.toThrow()
  })

  if (isInstalled('python3'))
    it('in Python compile', async () => {
      await run('python3', [
        '-c',
        'import sys\nfor f in sys.argv[1:]: compile(open(f).read(), f, "exec")',
        ...written('Python', 'py'),
      ])
    })

  if (isInstalled('gofmt', '-h'))
    it('in Go have the layout of gofmt', async () => {
      expect((await run('gofmt', ['-l', ...written('Go', 'go')])).stdout).toBe('')
    })

  if (isInstalled('php'))
    it('in PHP have no error of syntax', async () => {
      for (const file of written('PHP', 'php')) await run('php', ['-l', file])
    })

  it.each(installedPrograms())(
    'in $language create and list a token and a channel',
    async ({ language, extension, argv: [program, ...args] }) => {
      for (const id of ['createPublishToken', 'listPublishTokens', 'createChannel', 'listChannels']) {
        const { operation, document } = OPERATIONS.find((each) => each.operation.id === id)!
        const file = join(folder, `${id}.${extension}`)
        writeFileSync(file, codeOf(operation, document, language))
        const { stdout } = await run(program, [...args, file], { env: { ...process.env, ...secrets() } })
        expect([id, stdout]).toEqual([id, expect.stringMatching(/Studio 1|Main stage/)])
      }
    },
  )
})

it('the Postman collection has each operation once, in folders, with the body of its example', async () => {
  const collection = (await (await fetch(`${base}/api/docs/postman.json`)).json()) as Folder
  const requests = requestsIn(collection)
  expect(requests.map(({ name }) => name)).toEqual(
    DOCUMENTS.flatMap(({ operations }) => [...Map.groupBy(operations, ({ tag }) => tag).values()].flat()).map(
      ({ summary }) => summary,
    ),
  )
  const made = requests.find(({ name }) => name === 'Create a publish token')!
  expect(made.request).toMatchObject({ method: 'POST', url: { raw: '{{server}}/api/publish_token' } })
  expect(JSON.parse(made.request.body?.raw ?? '')).toMatchObject({ label: 'Studio 1' })
})

interface Folder {
  readonly item: readonly (Folder | Item)[]
}

interface Item {
  readonly name: string
  readonly request: { readonly method: string; readonly body?: { readonly raw?: string } }
}

const requestsIn = ({ item }: Folder): readonly Item[] =>
  item.flatMap((each) => ('item' in each ? requestsIn(each) : [each]))
