import { words } from '../words/words.ts'
import { signInAgain } from './expiry.ts'

/** One operation of the interface, as the generated files describe it. `A` is what it takes, `D` what it answers. */
export interface Operation<A, D> {
  readonly method: string
  /** Relative to `api/`, with `{name}` for values. */
  readonly path: string
  /** `data`: the answer is in `data` of the body. `plain`: the whole body is the answer. */
  readonly envelope: 'data' | 'plain'
  /** Only for the types. */
  readonly types?: { readonly args: A; readonly answer: D }
}

interface AnyArgs {
  readonly path?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** In place of `body`: sent as it is. */
  readonly file?: Blob
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Sign-in itself: a 401 is the answer, not the end of a session. */
  readonly signsIn?: boolean
  /** Another form of the answer than JSON. */
  readonly accept?: string
}

/** The refusal of an operation. */
export class ApiError extends Error {
  /** The HTTP status; 0: the server did not answer. */
  readonly status: number
  /** What is wrong with each field, by its path in the body. */
  readonly fields: Readonly<Record<string, string>>
  /** The server has no user yet. */
  readonly isFirstRun: boolean

  constructor(status: number, message: string, fields: Readonly<Record<string, string>> = {}, isFirstRun = false) {
    super(message)
    this.status = status
    this.fields = fields
    this.isFirstRun = isFirstRun
  }
}

/** What a call was rejected with, as a refusal. */
export const asApiError = (caught: unknown): ApiError =>
  caught instanceof ApiError ? caught : new ApiError(0, caught instanceof Error ? caught.message : String(caught))

/** What a list answers, with the number of all rows that match. */
export interface Rows<D> {
  readonly rows: D
  readonly total: number
}

/** Calls an operation under the dashboard's session. @throws ApiError for every refusal and when the server is away */
export async function call<A, D>(operation: Operation<A, D>, args: A, options: CallOptions = {}): Promise<D> {
  return answerOf(operation, await request(operation, args as AnyArgs, options), options) as Promise<D>
}

/** As `call`, for lists that count all matching rows in `X-Total-Count`. */
export async function callRows<A, D>(operation: Operation<A, D>, args: A, options: CallOptions): Promise<Rows<D>> {
  const response = await request(operation, args as AnyArgs, options)
  const rows = (await answerOf(operation, response, options)) as D
  return { rows, total: Number(response.headers.get('X-Total-Count') ?? 0) }
}

/** As `call`, for lists that the server also gives as a file. */
export const callCsv = async <A, D>(operation: Operation<A, D>, args: A): Promise<string> =>
  heard((await request(operation, args as AnyArgs, { accept: 'text/csv' })).text())

/** One page of a list that is walked by cursor. */
export interface CursorPage<D> {
  readonly rows: D
  /** For the next page; null: this is the last one. */
  readonly cursor: string | null
}

/** As `call`, for lists that are walked by cursor. */
export async function callPage<A, D>(
  operation: Operation<A, D>,
  args: A,
  options: CallOptions,
): Promise<CursorPage<D>> {
  const response = await request(operation, args as AnyArgs, options)
  const body = (await heard(response.json(), options)) as {
    data: D
    pagination?: { hasMore: boolean; cursor?: string }
  }
  const { hasMore = false, cursor } = body.pagination ?? {}
  return { rows: body.data, cursor: hasMore ? (cursor ?? null) : null }
}

type LoadPage<R> = (cursor: string | undefined) => Promise<CursorPage<readonly R[]>>

/** The first pages of a list, as one. */
export async function firstPages<R>(load: LoadPage<R>, most: number): Promise<CursorPage<readonly R[]>> {
  let whole = await load(undefined)
  for (let pages = 1; pages < most && whole.cursor !== null; pages += 1) {
    const { rows, cursor } = await load(whole.cursor)
    whole = { rows: [...whole.rows, ...rows], cursor }
  }
  return whole
}

/** No list that is shown as a whole has more pages. */
const PAGES_MOST = 20

/** All rows of a list that is walked by cursor, for lists whose length the server bounds. */
export const everyRow = async <R>(load: LoadPage<R>): Promise<readonly R[]> => (await firstPages(load, PAGES_MOST)).rows

/** The address of an operation, for `<img>` and downloads. */
export function addressOf<A, D>({ path }: Operation<A, D>, args: A): string {
  const { path: values = {}, query = {} } = args as AnyArgs
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name] ?? '')))
  const address = new URL(`api/${filled}`, document.baseURI)
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const one of value) address.searchParams.append(name, String(one))
    else if (isGiven(value)) address.searchParams.set(name, `${value}`)
  }
  return address.href
}

const isGiven = (value: unknown): value is string | number | boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean'

async function request<A, D>(operation: Operation<A, D>, args: AnyArgs, options: CallOptions): Promise<Response> {
  for (;;) {
    const response = await send(operation, args, options)
    // What is gone is deleted: another person was faster.
    if (response.ok || (response.status === 404 && operation.method === 'DELETE')) return response
    if (response.status !== 401 || options.signsIn) throw await refusalOf(response)
    // Nothing that was typed is lost: the call waits until the user has signed in again.
    await signInAgain()
  }
}

async function send<A, D>(
  operation: Operation<A, D>,
  args: AnyArgs,
  { signal, accept }: CallOptions,
): Promise<Response> {
  const { body, file } = args
  const type = file ? file.type : body === undefined ? null : 'application/json'
  const ends = [...(signal ? [signal] : []), ...(file ? [] : [AbortSignal.timeout(ANSWER_MS)])]
  const sent = fetch(addressOf(operation, args as A), {
    method: operation.method,
    headers: {
      'X-Sluice-Dashboard': '1',
      ...(type === null ? {} : { 'Content-Type': type }),
      ...(accept ? { Accept: accept } : {}),
    },
    ...(type === null ? {} : { body: file ?? JSON.stringify(body) }),
    signal: AbortSignal.any(ends),
  })
  return heard(sent, { signal })
}

/** A server, or a proxy before it, that has not answered by then is away. A file may take longer. */
const ANSWER_MS = 30_000

/** Awaits something of an answer, and says in words that it did not come. */
async function heard<T>(answer: Promise<T>, { signal }: CallOptions = {}): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, words.frame.noAnswer)
  }
}

async function answerOf<A, D>(
  { envelope }: Operation<A, D>,
  response: Response,
  options: CallOptions,
): Promise<unknown> {
  if (response.status === 204 || response.status === 404) return undefined
  const body = (await heard(response.json(), options)) as { data?: unknown }
  return envelope === 'data' ? body.data : body
}

/** What says refusals in the language of the page; as they came where its script is gone. Most pages meet none, and load none. */
const refusalWords = (): Promise<(text: string) => string> =>
  import('../words/refusalWords.ts').then(
    (module) => module.refusalWords(),
    () => (text) => text,
  )

/** Reads a refusal of the token API (`{data: {message, errors}}`) or of the channel API (`{message, details}`). */
async function refusalOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as Refusal
  const say = await refusalWords()
  const details = (body.details ?? []).map((one) => [one.path, say(one.message)] as const)
  const { message: said, errors, ...others } = objectOf(body.data)
  const fields = { ...textsOf(errors, say), ...textsOf(others, say), ...Object.fromEntries(details) }
  const [first] = Object.entries(fields)
  // The names of what is missing are no fields of a form.
  const about = first && (response.status === 404 ? first[1] : `${first[0]}: ${first[1]}`)
  const message = about ?? body.message ?? said
  return new ApiError(
    response.status,
    typeof message === 'string'
      ? say(message)
      : AWAY.includes(response.status)
        ? words.frame.noAnswer
        : words.frame.status(response.status),
    fields,
    others['isFirstRun'] === true,
  )
}

/** What a server answers that stops, or a proxy in front of one that is away. */
const AWAY = [502, 503, 504]

interface Refusal {
  readonly message?: string
  readonly data?: unknown
  readonly details?: readonly { readonly path: string; readonly message: string }[]
}

const objectOf = (data: unknown): Record<string, unknown> =>
  typeof data === 'string' ? { message: data } : data !== null && typeof data === 'object' ? { ...data } : {}

/** The texts of each field; several of one field become one text. */
const textsOf = (data: unknown, say: (text: string) => string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(objectOf(data)).map(([field, texts]) => [
      field,
      [texts]
        .flat()
        .map((text) => say(String(text)))
        .join('; '),
    ]),
  )
