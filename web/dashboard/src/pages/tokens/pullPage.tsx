import { useState } from 'preact/hooks'
import { deletePull, readPull, updatePull } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { sessionNews } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card, Page, Pairs } from '../../parts/page.tsx'
import { State } from '../../parts/state.tsx'
import { orToast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { goLater, linkTo, type PageArgs } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { Thumbnail } from '../overview/thumbnail.tsx'
import { RecentRefusals } from '../stream/side.tsx'
import { TARGET_SHAPES } from '../stream/targets.tsx'
import { type Pull, PullDialog } from './pullDialog.tsx'
import { PullState, STATES } from './pullsCard.tsx'
import '../../parts/screen.css'

const text = words.tokens.pulls

/** One source that Sluice dials: what it shows, how it is, and what was wrong with it. */
export function PullPage({ values }: PageArgs) {
  const { id: pullId = '', tokenId = '' } = values
  const path = { pullId }
  const pull = useLoad((signal) => call(readPull, { path }, { signal }), [pullId])
  useFollow(sessionNews, pull.reload, STATES)
  const crumb = { text: text.title, href: linkTo(`/tokens/publish/${pull.data?.tokenId ?? tokenId}`) }
  if (!pull.data) {
    return (
      <Page title={text.title} crumb={crumb}>
        {pull.error ? <LoadError error={pull.error} onRetry={pull.reload} /> : <Bones rows={8} />}
      </Page>
    )
  }
  const { label, streamName, status } = pull.data
  return (
    <Page
      title={label || streamName}
      crumb={crumb}
      sub={
        <State kind={TARGET_SHAPES[status]} look="pill">
          {words.stream.targetStatus[status]}
        </State>
      }
      actions={canChange() ? <Actions pull={pull.data} onChanged={pull.reloaded} back={crumb.href} /> : undefined}
    >
      <div class="cols form-side">
        <div class="stack">
          <div class="screen">
            {status === 'live' ? (
              <Thumbnail streamName={streamName} />
            ) : (
              <span class="no-thumbnail">{words.stream.targetStatus[status]}</span>
            )}
          </div>
          <Facts pull={pull.data} />
        </div>
        <div class="stack">
          <RecentRefusals streamName={streamName} />
        </div>
      </div>
    </Page>
  )
}

const Facts = ({ pull }: { readonly pull: Pull }) => (
  <Card title={text.state}>
    <PullState pull={pull} />
    <Pairs
      rows={[
        [
          text.stream,
          <a
            key="stream"
            href={linkTo(`/streams/${encodeURIComponent(pull.streamName)}`)}
            children={pull.streamName}
          />,
        ],
        [text.url, <code key="url">{pull.url}</code>],
        [text.dialled, pull.when === 'onDemand' ? text.isOnDemand : text.isAlways],
        [text.added, <Time key="added" at={pull.addedOn} isWhole />],
      ]}
    />
  </Card>
)

interface ActionsProps {
  readonly pull: Pull
  readonly onChanged: () => Promise<void>
  /** The page of its token. */
  readonly back: string
}

function Actions({ pull, onChanged, back }: ActionsProps) {
  const [asking, setAsking] = useState<'none' | 'change' | 'remove'>('none')
  const close = (): void => setAsking('none')
  const path = { pullId: String(pull.id) }
  const change = (body: object): Promise<void> => call(updatePull, { path, body }).then(onChanged)
  return (
    <>
      <Button icon="edit" onClick={() => setAsking('change')}>
        {text.edit}
      </Button>
      <Button onClick={() => orToast(change({ enabled: !pull.enabled }))}>
        {pull.enabled ? words.tokens.switchOff : words.tokens.switchOn}
      </Button>
      <Button icon="trash" onClick={() => setAsking('remove')}>
        {text.remove}
      </Button>
      {asking === 'change' && <PullDialog pull={pull} streamName={pull.streamName} onSave={change} onClose={close} />}
      {asking === 'remove' && (
        <Confirm
          title={text.removeTitle(pull.label || pull.streamName)}
          verb={text.remove}
          onConfirm={async () => {
            const then = goLater()
            await call(deletePull, { path })
            then(back.slice(1), {}, true)
          }}
          onClose={close}
        >
          {text.removeText}
        </Confirm>
      )}
    </>
  )
}
