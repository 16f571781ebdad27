import { useRef } from 'preact/hooks'
import { readSubscribeToken } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { isOwnMachine, ownAddresses, watchAddress } from '../../addresses.ts'
import { air } from '../../broadcast/broadcast.ts'
import { Sending } from '../../broadcast/figures.tsx'
import { AirBadge, Screen } from '../../broadcast/screen.tsx'
import { Button } from '../../parts/button.tsx'
import { CopyField } from '../../parts/copy.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { Pairs } from '../../parts/page.tsx'
import { Qr } from '../../parts/qr.tsx'
import { go, linkTo } from '../../router.ts'
import { type StreamNow, useStreamNow } from '../../streamNow.ts'
import { words } from '../../words/words.ts'
import { forget, keep, type Progress } from './progress.ts'
import { Solo } from './solo.tsx'

const text = words.firstRun

/** Step 4: the link for viewers. The page says so when the first one watches. */
export function WatchStep({ at }: { readonly at: Progress }) {
  const now = useStreamNow(at.streamName)
  const tookSeconds = useRef<number | null>(null)
  if (now.viewers > 0) tookSeconds.current ??= Math.round((Date.now() - at.beganAtMs) / 1000)
  return (
    <Solo step={4} {...headingOf(now, tookSeconds.current)}>
      <div class="two-ways">
        <OnAir at={at} now={now} />
        <section class="stack" aria-labelledby="link">
          <h2 id="link">{text.sendLink}</h2>
          <ViewersLink at={at} />
          <h2>{text.next}</h2>
          <NextSteps at={at} />
          <div class="actions">
            <Button look="primary" size="big" onClick={finish}>
              {text.toOverview}
            </Button>
            {!now.isLive && (
              <Button look="quiet" size="big" onClick={() => keep({ ...at, step: 3 })}>
                {text.back}
              </Button>
            )}
          </div>
        </section>
      </div>
    </Solo>
  )
}

function headingOf({ isLive, viewers }: StreamNow, tookSeconds: number | null): { title: string; lead: string } {
  if (!isLive) return { title: text.notLiveTitle, lead: text.notLiveLead }
  if (viewers === 0) return { title: text.liveTitle, lead: text.liveLead }
  return { title: text.watchedTitle, lead: text.took(tookSeconds ?? 0) }
}

function finish(): void {
  forget()
  go('/')
}

function OnAir({ at, now }: { readonly at: Progress; readonly now: StreamNow }) {
  const isOurs = air.value.state !== 'off'
  return (
    <section class="card" aria-labelledby="on-air">
      <Screen isFlat isLive={now.isLive}>
        <div class="tl">
          <AirBadge isLive={now.isLive} />
        </div>
        <div class="tr">
          <span class="chip">
            <Icon name="viewers" isSmall />
            {now.viewers}
            <span class="sr"> {text.viewers}</span>
          </span>
        </div>
      </Screen>
      <div class="pad stack gap-s">
        <h2 id="on-air">{at.streamName}</h2>
        <Pairs
          rows={[
            ...(isOurs ? [[text.sending, <Sending key="sending" />] as const] : []),
            [text.watching, <Watching key="watching" now={now} />],
          ]}
        />
        {isOurs && <p class="hint">{text.keepOpen}</p>}
      </div>
    </section>
  )
}

const Watching = ({ now }: { readonly now: StreamNow }) => (
  <span role="status">{now.viewers === 0 ? text.noViewerYet : text.watchedBy(now.viewers, now.protocols)}</span>
)

function ViewersLink({ at }: { readonly at: Progress }) {
  const { subscribeTokenId } = at
  const { data: token } = useLoad(
    async (signal) =>
      subscribeTokenId === null
        ? ''
        : (await call(readSubscribeToken, { path: { tokenId: String(subscribeTokenId) } }, { signal })).token,
    [subscribeTokenId],
  )
  if (token === undefined) return null
  const isLoopback = isOwnMachine(ownAddresses())
  const link = watchAddress(ownAddresses(), at.accountId, at.streamName, token)
  return (
    <>
      <CopyField label={text.link} what={text.link} value={link} />
      <div class="qr-and-text">
        {!isLoopback && <Qr value={link} label={text.qr} />}
        <div class="stack gap-s">
          <p>
            <a href={link} target="_blank" rel="noreferrer">
              {text.openLink}
            </a>
          </p>
          <p class="note">{isLoopback ? text.onlyHere : text.scan}</p>
        </div>
      </div>
    </>
  )
}

function NextSteps({ at }: { readonly at: Progress }) {
  const steps: readonly (readonly [IconName, string, keyof typeof text.nextSteps])[] = [
    ['locked', linkTo(`/tokens/publish/${at.publishTokenId}`), 'tokens'],
    ['webhooks', linkTo('/webhooks'), 'webhooks'],
    ['code', linkTo('/settings/security'), 'secrets'],
  ]
  return (
    <ul class="card rows next">
      {steps.map(([icon, href, key]) => (
        <li key={key}>
          <Icon name={icon} isSmall />
          <div class="grow">
            <a href={href}>{text.nextSteps[key].title}</a>
            <p>{text.nextSteps[key].note}</p>
          </div>
        </li>
      ))}
    </ul>
  )
}
