import { type Answer, readUpkeep } from '#api/tokens.ts'
import { call } from '../../../api/call.ts'
import { useLoad } from '../../../api/load.ts'
import { documentAt } from '../../../navigation.ts'
import { Bones, LoadError, Notice } from '../../../parts/notice.tsx'
import { Card, Pairs } from '../../../parts/page.tsx'
import { State } from '../../../parts/state.tsx'
import { noticeWords } from '../../../words/noticeWords.ts'
import { settingsWords } from '../../../words/settingsWords.ts'
import type { NodeProps } from './nodeProps.ts'

const text = settingsWords.server.upkeep

type Upkeep = Answer<typeof readUpkeep>

/** As the doctor says. */
const OLD_DAYS = 60

/** What grows old: version, certificate, country database. */
export function UpkeepCard({ node }: NodeProps) {
  const { data, error, reload } = useLoad((signal) => call(readUpkeep, { query: { node } }, { signal }), [])
  return (
    <Card title={text.title}>
      {error && <LoadError error={error} onRetry={reload} />}
      {data ? <Content {...data} /> : !error && <Bones rows={2} />}
    </Card>
  )
}

function Content({ version, certificate, countryDatabase }: Upkeep) {
  return (
    <>
      <Pairs
        rows={[
          [
            text.version,
            <>
              {version} ·{' '}
              <a href={documentAt('CHANGELOG.md')} target="_blank" rel="noopener">
                {text.changes}
              </a>
            </>,
          ],
          [text.certificate, certificate ? <Certificate {...certificate} /> : text.noTls],
          [text.countries, countryDatabase ? <Countries {...countryDatabase} /> : text.noCountries],
        ]}
      />
      {certificate?.problem && (
        <Notice kind="warn">{noticeWords(certificate.problem, certificate.problemSentences)}</Notice>
      )}
    </>
  )
}

const Certificate = ({ daysLeft, isLate, names }: NonNullable<Upkeep['certificate']>) => (
  <>
    <State kind={daysLeft < 0 ? 'error' : isLate ? 'warn' : 'ok'}>
      {daysLeft < 0 ? text.expired : text.daysLeft(daysLeft)}
    </State>
    <span class="sub">{names.join(', ')}</span>
  </>
)

const Countries = ({ path, ageDays }: NonNullable<Upkeep['countryDatabase']>) => (
  <>
    {ageDays === undefined ? (
      text.noAge
    ) : (
      <State kind={ageDays > OLD_DAYS ? 'warn' : 'ok'}>{text.daysOld(ageDays)}</State>
    )}{' '}
    <code class="wrap">{path}</code>
  </>
)
