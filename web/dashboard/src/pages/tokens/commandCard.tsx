import { CodeBlock } from '../../parts/copy.tsx'
import { Card } from '../../parts/page.tsx'
import { words } from '../../words/words.ts'
import type { TokenRecord } from './operations.ts'
import { firstName } from './streamEntry.ts'
import type { TokenKind } from './tokenForm.ts'
import { quoted } from './wording.ts'

const text = words.tokens.page

/** The commands that show a token and ask for a decision with it. */
export function CommandCard({ kind, token }: { readonly kind: TokenKind; readonly token: TokenRecord }) {
  const ofKind = kind === 'subscribe' ? ' --kind subscribe' : ''
  const action = kind === 'publish' ? 'publish' : 'view'
  const stream = quoted(firstName(token.streams) ?? 'NAME')
  const code = [
    `sluice token show ${token.id}${ofKind}`,
    `sluice check --action ${action} --stream ${stream} \\\n  --ip 203.0.113.7 --token "$TOKEN"`,
    `sluice access log --token ${token.id}`,
  ].join('\n')
  return (
    <Card title={text.sameByCommand}>
      <CodeBlock what={text.commands} code={code} />
    </Card>
  )
}
