import { LinkButton } from '../../parts/button.tsx'
import { Gate } from '../../parts/gate.tsx'
import { linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import type { TokenKind } from './tokenForm.ts'

const text = words.tokens

/** An account without a token of this kind: what such a token is for, and how to make the first. */
export function NoTokens({ kind }: { readonly kind: TokenKind }) {
  const { emptyTitle, emptyText, create } = text.kinds[kind]
  return (
    <section class="card empty">
      <Gate isOpen />
      <h2>{emptyTitle}</h2>
      <p>{emptyText}</p>
      {canChange() && (
        <div class="actions">
          <LinkButton look="primary" icon="plus" href={linkTo(`/tokens/${kind}/new`)}>
            {create}
          </LinkButton>
          {kind === 'subscribe' && (
            <LinkButton icon="locked" href={linkTo('/tokens/publish')}>
              {text.secureStream}
            </LinkButton>
          )}
        </div>
      )}
    </section>
  )
}
