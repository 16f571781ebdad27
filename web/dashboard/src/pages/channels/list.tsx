import { useState } from 'preact/hooks'
import { type Channel, deleteChannel, listChannels, readChannel, startChannel, stopChannel } from '#api/channels.ts'
import { call, callPage } from '../../api/call.ts'
import { useWalk } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { channelEdits } from '../../live.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Segment } from '../../parts/form.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { SearchField } from '../../parts/search.tsx'
import { State } from '../../parts/state.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { go, linkTo, type PageArgs, setQuery } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import './channels.css'
import { ChannelsFrame } from './frame.tsx'
import { isRunning, STATUS } from './status.ts'

const text = words.channels
const RUNNING = 'playing,ingesting,waiting,starting,deploying,stopping'

type Which = 'all' | 'running' | 'error'
const FILTERS: Readonly<Record<Which, string | undefined>> = { all: undefined, running: RUNNING, error: 'error' }

const whichOf = (query: URLSearchParams): Which => {
  const asked = query.get('which')
  return asked === 'running' || asked === 'error' ? asked : 'all'
}

/** All channels with their state; start and stop. */
export function ChannelsPage({ query }: PageArgs) {
  const [which, search] = [whichOf(query), query.get('search') ?? '']
  const list = useWalk(
    (cursor, signal) =>
      callPage(listChannels, { query: { status: FILTERS[which], search: search || undefined, cursor } }, { signal }),
    [which, search],
  )
  useFollow(channelEdits, list.reload)
  const [doomed, setDoomed] = useState<Channel | null>(null)
  const toggle = async (channel: Channel): Promise<void> => {
    const path = { channelId: channel.id }
    await call(isRunning(channel) ? stopChannel : startChannel, { path })
    await list.reloaded()
  }
  const remove = async (channel: Channel): Promise<void> => {
    const { id, name } = channel
    if (isRunning(channel)) await stopWholly(id)
    await call(deleteChannel, { path: { channelId: id } })
    toast(text.deleted(name))
    list.reload()
  }
  const isEmpty = list.data?.length === 0
  return (
    <ChannelsFrame path="/channels">
      <section class="card" aria-label={text.title}>
        <div class="tools">
          <SearchField
            label={text.search}
            placeholder={text.searchHint}
            value={search}
            onSearch={(found) => setQuery({ search: found || undefined })}
          />
          <Segment
            label={text.which}
            choices={(['all', 'running', 'error'] as const).map((one) => [one, text.filters[one]] as const)}
            value={which}
            onChange={(chosen) => setQuery({ which: chosen === 'all' ? undefined : chosen })}
          />
        </div>
        {list.error && <LoadError error={list.error} onRetry={list.reload} />}
        {!list.data && !list.error && <Bones rows={4} />}
        {isEmpty && <Nothing isNarrowed={search !== '' || which !== 'all'} />}
        {list.data && !isEmpty && (
          <Table caption={text.title} rows={list.data} keyOf={({ id }) => id} columns={columnsOf(toggle, setDoomed)} />
        )}
        {list.data && (
          <div class="card-foot">
            <More count={list.data.length} hasMore={list.hasMore} isBusy={list.isLoading} onMore={list.more} />
          </div>
        )}
      </section>
      {doomed && (
        <Confirm
          title={text.deleteTitle(doomed.name)}
          verb={text.delete}
          typed={isRunning(doomed) ? doomed.name : undefined}
          onConfirm={() => remove(doomed)}
          onClose={() => setDoomed(null)}
        >
          {text.deleteText}
        </Confirm>
      )}
    </ChannelsFrame>
  )
}

const LOOK_MS = 500
const MOST_LOOKS = 60

/** Stops a channel and waits for its engines, because one that runs cannot be deleted. */
async function stopWholly(channelId: string): Promise<void> {
  const path = { channelId }
  await call(stopChannel, { path })
  for (let look = 0; look < MOST_LOOKS; look++) {
    const { status } = await call(readChannel, { path })
    if (status === 'stopped') return
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

const Nothing = ({ isNarrowed }: { readonly isNarrowed: boolean }) => (
  <Empty
    title={text.none}
    action={isNarrowed && <LinkButton href={linkTo('/channels')}>{words.streams.showAll}</LinkButton>}
  >
    {isNarrowed ? text.noneFound : text.noneText}
  </Empty>
)

function columnsOf(toggle: (one: Channel) => Promise<void>, doom: (one: Channel) => void): Column<Channel>[] {
  return [
    {
      id: 'name',
      title: text.channel,
      cell: ({ id, name, status }) => (
        <>
          <a class="row clamp" title={name} href={linkTo(`/channels/${id}`)}>
            {name}
          </a>
          <span class="only-narrow">
            <ChannelState status={status} />
          </span>
        </>
      ),
    },
    { id: 'state', title: text.state, priority: 2, cell: ({ status }) => <ChannelState status={status} /> },
    { id: 'made', title: text.made, priority: 3, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      id: 'actions',
      title: words.parts.actions,
      kind: 'actions',
      cell: (one) =>
        canChange() && (
          <>
            <Button
              size="small"
              icon={isRunning(one) ? 'stop' : 'play'}
              onClick={() => orToast(toggle(one))}
              of={one.name}
            >
              {isRunning(one) ? text.stop : text.start}
            </Button>{' '}
            <Menu
              label={words.parts.moreFor(one.name)}
              items={[
                { icon: 'channels', text: text.open, onSelect: () => go(`/channels/${one.id}`) },
                { icon: 'trash', text: text.delete, isDanger: true, onSelect: () => doom(one) },
              ]}
            />
          </>
        ),
    },
  ]
}

const ChannelState = ({ status }: Pick<Channel, 'status'>) => <State kind={STATUS[status]}>{text.states[status]}</State>
