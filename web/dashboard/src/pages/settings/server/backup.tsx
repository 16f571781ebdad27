import { useState } from 'preact/hooks'
import { type Answer, createBackup, downloadBackup, readBackup } from '#api/tokens.ts'
import { addressOf, type ApiError, asApiError, call } from '../../../api/call.ts'
import { useLoad } from '../../../api/load.ts'
import { useEvery } from '../../../follow.ts'
import { Button } from '../../../parts/button.tsx'
import { Bones, LoadError, Notice } from '../../../parts/notice.tsx'
import { Card, Pairs } from '../../../parts/page.tsx'
import { bytes, count, Time } from '../../../parts/values.tsx'
import { noticeWords } from '../../../words/noticeWords.ts'
import { settingsWords } from '../../../words/settingsWords.ts'

const text = settingsWords.server.backup

type Backup = Answer<typeof readBackup>

const AGAIN_MS = 1000

/** Makes a backup of the database, and fetches the last. */
export function BackupCard() {
  const { data, error, reload, set } = useLoad((signal) => call(readBackup, {}, { signal }), [])
  const [refusal, setRefusal] = useState<ApiError | null>(null)
  const isRunning = data?.isRunning === true
  useEvery(isRunning ? AGAIN_MS : null, reload)
  const make = async (): Promise<void> => {
    setRefusal(null)
    await call(createBackup, {}).then(set, (caught: unknown) => setRefusal(asApiError(caught)))
  }
  return (
    <Card
      title={text.title}
      aside={
        data?.engine === 'sqlite' && (
          <Button size="small" isBusy={isRunning} onClick={() => void make()}>
            {text.make}
          </Button>
        )
      }
    >
      {error && <LoadError error={error} onRetry={reload} />}
      {refusal && <LoadError error={refusal} onRetry={() => void make()} />}
      {data ? <Content {...data} /> : !error && <Bones rows={2} />}
    </Card>
  )
}

function Content({ engine, problem, problemSentences, latest, isRunning }: Backup) {
  if (engine === 'postgres') return <p class="note">{text.postgres}</p>
  return (
    <>
      {isRunning && (
        <p class="note" role="status">
          {text.running}
        </p>
      )}
      {problem && <Notice kind="error">{noticeWords(problem, problemSentences)}</Notice>}
      {latest ? <Latest {...latest} /> : <p>{text.none}</p>}
      <p class="note">{text.about}</p>
    </>
  )
}

function Latest({ createdAt, version, bytes: size, tokens, sealedBy }: NonNullable<Backup['latest']>) {
  return (
    <>
      <Pairs
        rows={[
          [text.made, <Time key="made" at={createdAt} isWhole />],
          [text.size, bytes(size)],
          [text.tokens, count(tokens)],
          [text.version, version],
          [text.key, sealedBy.length === 0 ? text.noKey : <code key="key">{sealedBy.join(', ')}</code>],
        ]}
      />
      <div class="actions">
        <a class="btn small" href={addressOf(downloadBackup, {})} download>
          {text.download}
        </a>
      </div>
    </>
  )
}
