import type { ComponentChildren } from 'preact'
import { LinkButton } from '../../parts/button.tsx'
import { Page, Tabs } from '../../parts/page.tsx'
import { linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'

const text = words.channels

const TABS = [
  { path: '/channels', text: text.title },
  { path: '/channels/calendar', text: channelWords.calendar.view },
] as const

interface FrameProps {
  readonly path: (typeof TABS)[number]['path']
  readonly children: ComponentChildren
}

/** The frame of the list of channels and of their calendar. */
export function ChannelsFrame({ path, children }: FrameProps) {
  return (
    <Page
      title={text.title}
      sub={text.sub}
      actions={
        canChange() && (
          <LinkButton look="primary" icon="plus" href={linkTo('/channels/new')}>
            {text.create}
          </LinkButton>
        )
      }
    >
      <Tabs
        label={text.title}
        tabs={TABS.map((tab) => ({ text: tab.text, href: linkTo(tab.path) }))}
        current={linkTo(path)}
      />
      {children}
    </Page>
  )
}
