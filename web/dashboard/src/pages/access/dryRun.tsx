import { useState } from 'preact/hooks'
import { type Answer, checkAccess } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/copy.tsx'
import { Segment, SelectField, TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { words } from '../../words/words.ts'
import { errorOf } from '../tokens/tokenForm.ts'
import { quoted } from '../tokens/wording.ts'
import { Trace, Verdict } from './trace.tsx'

const text = words.access.ask

const PROTOCOLS = { publish: ['whip', 'rtmp', 'srt', 'pull'], view: ['whep', 'hls'] } as const

type Action = keyof typeof PROTOCOLS
type Protocol = (typeof PROTOCOLS)[Action][number]
type Checked = Answer<typeof checkAccess>

/** A client that may be asked about. `token`: the id of a stored token, or a value. */
export interface Question {
  readonly action: Action
  readonly protocol: Protocol
  readonly streamName: string
  readonly token: string
  readonly ip: string
  readonly origin: string
  readonly country: string
}

export const emptyQuestion: Question = {
  action: 'view',
  protocol: 'whep',
  streamName: '',
  token: '',
  ip: '',
  origin: '',
  country: '',
}

const isId = (token: string): boolean => /^\d{1,15}$/.test(token)

/** The body of the operation. Empty fields are left out: a client without a token or a site. */
function questionBody({ action, protocol, streamName, token, ip, origin, country }: Question) {
  const given = token.trim()
  return {
    action,
    protocol,
    streamName,
    ip,
    ...(given === '' ? {} : isId(given) ? { tokenId: Number(given) } : { token: given }),
    ...(origin === '' ? {} : { origin }),
    ...(country === '' ? {} : { country }),
  }
}

/** The command that asks the same. It takes the value of a token, never its id. */
function questionCommand({ action, protocol, streamName, token, ip, origin, country }: Question): string {
  const flags = [
    `--action ${action}`,
    `--protocol ${protocol}`,
    `--stream ${quoted(streamName || 'NAME')}`,
    `--ip ${quoted(ip || 'ADDRESS')}`,
    ...(token === '' ? [] : ['--token "$TOKEN"']),
    ...(origin === '' ? [] : [`--origin ${quoted(origin)}`]),
    ...(country === '' ? [] : [`--country ${quoted(country)}`]),
  ]
  return ['sluice check', ...flags].join(' \\\n  ')
}

/** "Would this be admitted?": asks for a decision that binds, counts and opens nothing. */
export function DryRunCard({ start, isOpen }: { readonly start: Question; readonly isOpen: boolean }) {
  const [question, setQuestion] = useState(start)
  const [answer, setAnswer] = useState<Checked | null>(null)
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    setAnswer(null)
    setAnswer(await call(checkAccess, { body: questionBody(question) }))
  })
  return (
    <form onSubmit={onSubmit}>
      <Card
        title={text.title}
        aside={<span class="note">{text.note}</span>}
        foot={
          <Button type="submit" isBusy={isBusy}>
            {text.submit}
          </Button>
        }
      >
        {error && !isOfField(fields) && <Notice kind="error">{error.message}</Notice>}
        {answer && <Answered answer={answer} />}
        <details open={isOpen}>
          <summary>{text.values}</summary>
          <div class="form in-details">
            <Fields question={question} errors={fields} onQuestion={setQuestion} />
          </div>
        </details>
        <details>
          <summary>{text.sameByCommand}</summary>
          <CodeBlock what={text.sameByCommand} code={questionCommand(question)} />
        </details>
      </Card>
    </form>
  )
}

const FIELDS = ['streamName', 'token', 'tokenId', 'ip', 'origin', 'country', 'protocol']
const isOfField = (errors: Readonly<Record<string, string>>): boolean =>
  FIELDS.some((field) => errorOf(errors, field) !== undefined)

function Answered({ answer }: { readonly answer: Checked }) {
  const failed = answer.trace.find(({ outcome }) => outcome === 'fail')
  const state = answer.live ? text.isLive : text.isNotLive
  return (
    <>
      <Verdict isAllowed={answer.allowed} code={answer.code} detail={failed?.detail ?? state} />
      <Trace steps={answer.trace} />
    </>
  )
}

interface FieldsProps {
  readonly question: Question
  readonly errors: Readonly<Record<string, string>>
  readonly onQuestion: (question: Question) => void
}

function Fields(props: FieldsProps) {
  const { question, errors, onQuestion } = props
  const set = (changes: Partial<Question>): void => onQuestion({ ...question, ...changes })
  const actions = (['view', 'publish'] as const).map((one) => [one, words.access.actions[one]] as const)
  return (
    <>
      <Segment
        isWide
        label={text.action}
        choices={actions}
        value={question.action}
        onChange={(action) => set({ action, protocol: PROTOCOLS[action][0] })}
      />
      <div class="pair">
        <TextField
          label={text.stream}
          required
          missing={words.problems.streamName}
          maxLength={128}
          autocomplete="off"
          error={errorOf(errors, 'streamName')}
          value={question.streamName}
          onValue={(streamName) => set({ streamName })}
        />
        <SelectField
          label={text.protocol}
          error={errorOf(errors, 'protocol')}
          value={question.protocol}
          choices={PROTOCOLS[question.action].map((one) => [one, one.toUpperCase()] as const)}
          onValue={(protocol) => set({ protocol })}
        />
      </div>
      <TextField
        label={text.token}
        isOptional
        hint={text.tokenHint}
        autocomplete="off"
        error={errorOf(errors, 'token') ?? errorOf(errors, 'tokenId')}
        value={question.token}
        onValue={(token) => set({ token })}
      />
      <ClientFields {...props} />
    </>
  )
}

/** Where the client is. */
function ClientFields({ question, errors, onQuestion }: FieldsProps) {
  const set = (changes: Partial<Question>): void => onQuestion({ ...question, ...changes })
  return (
    <>
      <TextField
        label={text.address}
        required
        autocomplete="off"
        placeholder="203.0.113.7"
        error={errorOf(errors, 'ip')}
        value={question.ip}
        onValue={(ip) => set({ ip })}
      />
      <div class="pair">
        <TextField
          label={text.site}
          isOptional
          autocomplete="off"
          placeholder="https://example.com"
          error={errorOf(errors, 'origin')}
          value={question.origin}
          onValue={(origin) => set({ origin })}
        />
        <TextField
          label={text.country}
          isOptional
          maxLength={2}
          autocomplete="off"
          placeholder="DE"
          error={errorOf(errors, 'country')}
          value={question.country}
          onValue={(country) => set({ country })}
        />
      </div>
    </>
  )
}
