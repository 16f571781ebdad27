import type { ComponentChildren } from 'preact'
import { Button } from '../../parts/button.tsx'
import { Page, Tabs } from '../../parts/page.tsx'
import { linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'

const text = words.webhooks

const TABS = [
  { path: '/webhooks', text: text.tabs.tokens },
  { path: '/webhooks/channels', text: text.tabs.channels },
] as const

interface FrameProps {
  readonly path: (typeof TABS)[number]['path']
  readonly sub: string
  readonly onCreate: () => void
  readonly children: ComponentChildren
}

/** The frame of both pages of webhooks: those of streams and those of channels. */
export function WebhooksFrame({ path, sub, onCreate, children }: FrameProps) {
  return (
    <Page
      title={text.title}
      sub={sub}
      actions={
        canChange() && (
          <Button look="primary" icon="plus" onClick={onCreate}>
            {text.create}
          </Button>
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
