import { type Answer, type listWebhookDeliveries, readWebhookDelivery } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Code } from '../../parts/copy.tsx'
import { useInView } from '../../parts/inView.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Pairs } from '../../parts/page.tsx'
import { count, Time } from '../../parts/values.tsx'
import { noticeWords } from '../../words/noticeWords.ts'
import { words } from '../../words/words.ts'
import { Attempts } from './attempts.tsx'
import { Sent } from './sent.tsx'

const text = words.webhooks

export type Delivery = Answer<typeof listWebhookDeliveries>[number]
type DeliveryWithBytes = Answer<typeof readWebhookDelivery>

/** The most earlier deliveries of an event that the page follows. */
const ANCESTORS_MOST = 10

interface Loaded {
  readonly delivery: DeliveryWithBytes
  /** The deliveries that it repeats, newest first. */
  readonly before: readonly Delivery[]
}

type Read = (id: string) => Promise<DeliveryWithBytes>

async function load(id: string, listed: readonly Delivery[], read: Read): Promise<Loaded> {
  const delivery = await read(id)
  const before: Delivery[] = []
  let of = delivery.redeliveryOf
  while (of !== undefined && before.length < ANCESTORS_MOST) {
    const earlier: Delivery = listed.find((one) => one.id === of) ?? (await read(of))
    before.push(earlier)
    of = earlier.redeliveryOf
  }
  return { delivery, before }
}

interface DetailProps {
  readonly webhookId: string
  readonly id: string
  /** The loaded rows of the list: among them later deliveries of the same event. */
  readonly listed: readonly Delivery[]
  readonly onChoose: (id: string) => void
}

/** One delivery: what was sent, what was answered, and every time that its event was sent. */
export function DeliveryDetail({ webhookId, id, listed, onChoose }: DetailProps) {
  const row = listed.find((one) => one.id === id)
  const loaded = useLoad(
    (signal) =>
      load(id, listed, (deliveryId) => call(readWebhookDelivery, { path: { webhookId, deliveryId } }, { signal })),
    [webhookId, id, row?.state],
  )
  const { data } = loaded
  const root = useInView(data?.delivery.id)
  if (loaded.error) return <LoadError error={loaded.error} onRetry={loaded.reload} />
  if (data?.delivery.id !== id) return <Bones />
  const { delivery, before } = data
  const { statusCode, answer } = delivery
  return (
    <div class="pad stack lined opened" role="region" aria-label={text.delivery} ref={root}>
      <Pairs rows={factsOf(delivery)} />
      <Attempts attempts={attemptsOf(delivery, [...listed, ...before])} chosenId={id} onChoose={onChoose} />
      <div class="cols half">
        {delivery.sent ? <Sent sent={delivery.sent} /> : <p class="note">{text.notSent}</p>}
        <div class="section">
          <h3>{text.answered}</h3>
          <div class="block">
            <Code code={[statusCode, answer].filter(Boolean).join('\n\n') || text.noAnswer} what={text.answered} />
          </div>
        </div>
      </div>
    </div>
  )
}

const factsOf = ({
  eventId,
  subject,
  createdOn,
  startedOn,
  durationMs,
  error,
  errorSentences,
  redeliveryOf,
}: Delivery) => [
  [text.eventId, <code>{eventId}</code>] as const,
  ...(subject ? [[text.subject, <code>{subject}</code>] as const] : []),
  [text.happened, <Time at={createdOn} isWhole />] as const,
  ...(startedOn ? [[text.started, <Time at={startedOn} isWhole />] as const] : []),
  ...(durationMs === undefined ? [] : [[text.took, `${count(durationMs)} ms`] as const]),
  ...(redeliveryOf ? [[text.redeliveryOf, <code>{redeliveryOf}</code>] as const] : []),
  ...(error ? [[text.problem, noticeWords(error, errorSentences)] as const] : []),
]

/** Every known delivery of the same event, newest first. Ids are in the order of time. */
function attemptsOf(delivery: Delivery, known: readonly Delivery[]) {
  const same = known.filter(({ eventId }) => eventId === delivery.eventId)
  const byId = new Map([...same, delivery].map((one) => [one.id, one]))
  return [...byId.values()]
    .toSorted((one, other) => (one.id < other.id ? 1 : -1))
    .map(({ id, state, statusCode, startedOn, createdOn, redeliveryOf }) => ({
      id,
      at: startedOn ?? createdOn,
      state,
      statusCode,
      note: redeliveryOf ? text.sentOnceMore : text.firstTime,
    }))
}
