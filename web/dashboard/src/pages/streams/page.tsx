import { streams } from '../../live.ts'
import { Page, Tabs } from '../../parts/page.tsx'
import { count } from '../../parts/values.tsx'
import { linkTo, type PageArgs } from '../../router.ts'
import { words } from '../../words/words.ts'
import { EndedList } from './endedList.tsx'
import { OnAirList } from './onAirList.tsx'

const text = words.streams

/** All streams: those on the air as they are now, and those that are off it with their last broadcast. */
export function StreamsPage({ query }: PageArgs) {
  const isEnded = query.get('list') === 'ended'
  const addresses = { onAir: linkTo('/streams'), ended: linkTo('/streams', { list: 'ended' }) }
  const tabs = [
    {
      href: addresses.onAir,
      text: (
        <>
          {text.onAir} <span class="faint num">{streams.value && count(streams.value.length)}</span>
        </>
      ),
    },
    { href: addresses.ended, text: text.ended },
  ]
  return (
    <Page title={text.title} sub={text.sub}>
      <Tabs label={text.which} current={isEnded ? addresses.ended : addresses.onAir} tabs={tabs} />
      {isEnded ? <EndedList search={(query.get('search') ?? '').slice(0, 128)} /> : <OnAirList query={query} />}
    </Page>
  )
}
