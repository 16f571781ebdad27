import { useEffect } from 'preact/hooks'
import { session } from '../../session.ts'
import { AirStep } from './airStep.tsx'
import { begin, keep, type Progress, progress } from './progress.ts'
import { StreamStep } from './streamStep.tsx'
import { WatchStep } from './watchStep.tsx'

/** Steps 2 to 4 of the first run. It goes on where the user left it. */
export function FirstRunPage() {
  const { value } = session
  const accountId = value.kind === 'signedIn' ? value.session.account.id : ''
  const kept = progress.value
  const isOwn = kept?.accountId === accountId
  useEffect(() => {
    if (!isOwn && accountId !== '') keep(begin(accountId, Date.now()))
  }, [isOwn, accountId])
  if (!isOwn || kept === null) return null
  return <CurrentStep at={kept} />
}

function CurrentStep({ at }: { readonly at: Progress }) {
  if (at.step === 2 || at.publishTokenId === null) return <StreamStep at={at} />
  return at.step === 3 ? <AirStep at={at} /> : <WatchStep at={at} />
}
