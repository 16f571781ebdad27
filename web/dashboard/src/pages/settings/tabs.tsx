import type { ComponentChildren } from 'preact'
import { Page, Tabs } from '../../parts/page.tsx'
import { linkTo } from '../../router.ts'
import { settingsWords } from '../../words/settingsWords.ts'
import { words } from '../../words/words.ts'

const text = words.settings

const TABS = [
  { path: '/settings/security', text: text.security },
  { path: '/settings/people', text: text.people },
  { path: '/settings/defaults', text: settingsWords.defaults.title },
  { path: '/settings/nodes', text: settingsWords.nodes.title },
  { path: '/settings/server', text: settingsWords.server.title },
  { path: '/settings/audit', text: text.audit },
] as const

/** The frame of the settings pages. */
export function SettingsFrame({ path, children }: { readonly path: string; readonly children: ComponentChildren }) {
  const tabs = TABS.map((tab) => ({ text: tab.text, href: linkTo(tab.path) }))
  return (
    <Page title={text.title}>
      <Tabs label={text.title} tabs={tabs} current={linkTo(path)} />
      {children}
    </Page>
  )
}
