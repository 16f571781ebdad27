import { until } from './until.ts'

/** An event of a stream of Server-Sent Events. */
export interface SentEvent {
  id: string
  name: string
  data: ReturnType<typeof JSON.parse>
}

/** An open stream of Server-Sent Events. */
export interface OpenStream {
  status: number
  headers: Headers
  /** In the order of arrival. */
  events: SentEvent[]
  /** Lines that are comments. */
  comments: string[]
  isOver(): boolean
  /** The first event of this name with these members, when it has arrived. */
  next(name: string, data?: object): Promise<SentEvent>
  close(): void
}

export async function openEventStream(url: string, headers: Record<string, string>): Promise<OpenStream> {
  const over = new AbortController()
  const response = await fetch(url, { headers, signal: over.signal })
  const events: SentEvent[] = []
  const comments: string[] = []
  let isOver = false
  const read = async () => {
    let rest = ''
    for await (const chunk of response.body ?? []) {
      const blocks = (rest + Buffer.from(chunk).toString()).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) take(block, events, comments)
    }
  }
  void read()
    .catch(() => undefined)
    .finally(() => (isOver = true))
  return {
    status: response.status,
    headers: response.headers,
    events,
    comments,
    isOver: () => isOver,
    async next(name, data = {}) {
      const wanted = Object.entries(data).map(([key, value]) => [key, JSON.stringify(value)] as const)
      const find = () =>
        events.find((one) => one.name === name && wanted.every(([key, text]) => JSON.stringify(one.data[key]) === text))
      await until(() => find() !== undefined)
      return find() as SentEvent
    },
    close: () => over.abort(),
  }
}

function take(block: string, events: SentEvent[], comments: string[]): void {
  const fields = new Map(block.split('\n').map((line) => [line.split(':', 1)[0], line.slice(line.indexOf(':') + 2)]))
  if (block.startsWith(':')) comments.push(block)
  const data = fields.get('data')
  if (data === undefined) return
  events.push({ id: fields.get('id') ?? '', name: fields.get('event') ?? '', data: JSON.parse(data) })
}
