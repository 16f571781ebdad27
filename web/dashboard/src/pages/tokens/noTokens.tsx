import { LinkButton } from '../../parts/button.tsx'
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
      <Gate />
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

const Gate = () => (
  <svg class="art" viewBox="0 0 132 88" aria-hidden="true">
    <g fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
      <path d="M38 12v64M50 12v64M82 12v64M94 12v64M34 12h64" />
      <rect x="50" y="16" width="32" height="26" rx="2" fill="currentColor" fill-opacity=".14" />
      <path d="M66 12V16" />
      <path d="M4 62c6-5 11-5 17 0s11 5 17 0M50 62c5-5 11-5 16 0s11 5 16 0" />
      <path d="M94 62c6-5 11-5 17 0s11 5 17 0" />
      <path d="M4 74c6-5 11-5 17 0s11 5 17 0" opacity=".5" />
    </g>
  </svg>
)
