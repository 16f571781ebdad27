import { useState } from 'preact/hooks'
import { type Answer, examineServer, readExamination } from '#api/tokens.ts'
import { type ApiError, asApiError, call } from '../../../api/call.ts'
import { useLoad } from '../../../api/load.ts'
import { Button } from '../../../parts/button.tsx'
import { Bones, LoadError } from '../../../parts/notice.tsx'
import { Card } from '../../../parts/page.tsx'
import { Shape, State } from '../../../parts/state.tsx'
import { Time } from '../../../parts/values.tsx'
import { findingWords } from '../../../words/doctorWords.ts'
import { settingsWords } from '../../../words/settingsWords.ts'
import type { NodeProps } from './nodeProps.ts'

const text = settingsWords.server.doctor

type Examination = Answer<typeof examineServer>
type Finding = Examination['checks'][number]

/** The checks of `sluice doctor`, run by the server. What was found last is shown until the next run. */
export function DoctorCard({ node }: NodeProps) {
  const latest = useLoad((signal) => call(readExamination, { query: { node } }, { signal }), [])
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<ApiError | null>(null)
  const run = async (): Promise<void> => {
    setBusy(true)
    setRefusal(null)
    try {
      latest.set(await call(examineServer, { query: { node } }))
    } catch (error) {
      setRefusal(asApiError(error))
    } finally {
      setBusy(false)
    }
  }
  const { data, error, isLoading, reload } = latest
  return (
    <Card
      title={text.title}
      aside={
        <Button size="small" isBusy={isBusy} onClick={() => void run()}>
          {data ? text.again : text.run}
        </Button>
      }
    >
      {refusal && <LoadError error={refusal} onRetry={() => void run()} />}
      {error && <LoadError error={error} onRetry={reload} />}
      {isLoading && data === undefined && <Bones rows={2} />}
      <div role="status">{isBusy ? <p class="note">{text.running}</p> : data && <Summary {...data} />}</div>
      {data ? <Findings checks={data.checks} /> : data === null && !isBusy && <p class="note">{text.about}</p>}
    </Card>
  )
}

const isOk = ({ outcome }: Finding): boolean => outcome === 'ok'
const hasFailed = ({ outcome }: Finding): boolean => outcome === 'FAIL'

function Summary({ checks, at }: Examination) {
  const failed = checks.filter(hasFailed).length
  const warned = checks.filter((finding) => !isOk(finding)).length - failed
  const kind = failed > 0 ? 'error' : warned > 0 ? 'warn' : 'ok'
  return (
    <p>
      <State kind={kind}>{kind === 'ok' ? text.allWell(checks.length) : text.problems(failed, warned)}</State>{' '}
      <span class="note">
        <Time at={at} isWhole />
      </span>
    </p>
  )
}

/** What needs a person comes first; the rest is folded. */
function Findings({ checks }: Pick<Examination, 'checks'>) {
  const problems = [...checks.filter(hasFailed), ...checks.filter(({ outcome }) => outcome === 'warn')]
  const fine = checks.filter(isOk)
  return (
    <>
      {problems.length > 0 && <List of={problems} />}
      <details>
        <summary>{text.fine(fine.length)}</summary>
        <List of={fine} />
      </details>
    </>
  )
}

const KINDS = { ok: 'ok', warn: 'warn', FAIL: 'error' } as const

const List = ({ of }: { readonly of: readonly Finding[] }) => (
  <ul class="rows">
    {of.map((finding, at) => {
      const { check, detail } = findingWords(finding)
      return (
        <li key={at}>
          <Shape kind={KINDS[finding.outcome]} isSmall />
          <div class="grow">
            <b>{check}</b> <span class="sr">{text.outcomes[finding.outcome]}</span>
            <p>{detail}</p>
          </div>
        </li>
      )
    })}
  </ul>
)
