import type { ButtonHTMLAttributes, ComponentChildren, TargetedMouseEvent } from 'preact'
import { useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'
import './button.css'

type Look = 'plain' | 'primary' | 'quiet' | 'danger' | 'destroy' | 'on-air'

interface ButtonProps extends Omit<ButtonHTMLAttributes, 'icon' | 'size' | 'onClick'> {
  /** One `primary` a page. What destroys is never primary and never beside it. */
  readonly look?: Look
  readonly size?: 'small' | 'big'
  readonly isWide?: boolean
  readonly icon?: IconName
  /** What it acts on, for those who hear its name alone, where a page has several such buttons. */
  readonly of?: string | undefined
  /** Its action is under way. It keeps the focus, which a disabled button loses, and does nothing. */
  readonly isBusy?: boolean
  /** The button is busy until a promise that this returns is settled. It may not be rejected. */
  readonly onClick?: ((event: TargetedMouseEvent<HTMLButtonElement>) => void | Promise<void>) | undefined
  readonly children: ComponentChildren
}

const classOf = (look: Look, size: string | undefined, isWide: boolean): string =>
  ['btn', look === 'plain' ? '' : look, size ?? '', isWide ? 'wide' : ''].filter(Boolean).join(' ')

export const ignore = (event: Event): void => event.preventDefault()

/** What a button has while its action is under way, and the action, which a second press does not begin again. */
function usePress({ isBusy: isAlready = false, onClick }: Pick<ButtonProps, 'isBusy' | 'onClick'>) {
  const [isUnderWay, setUnderWay] = useState(false)
  const isBusy = isAlready || isUnderWay
  const press = (event: TargetedMouseEvent<HTMLButtonElement>): void => {
    const action = onClick?.(event)
    if (!(action instanceof Promise)) return
    setUnderWay(true)
    void action.finally(() => setUnderWay(false))
  }
  const busy = isBusy ? ({ 'aria-busy': 'true', 'aria-disabled': 'true' } as const) : {}
  return { isBusy, attributes: { ...busy, onClick: isBusy ? ignore : press } }
}

export function Button(props: ButtonProps) {
  const { look = 'plain', size, isWide = false, icon, isBusy: _, of, children, onClick: __, ...rest } = props
  const { isBusy, attributes } = usePress(props)
  const name = isBusy ? 'refresh' : icon
  return (
    <button type="button" {...rest} class={classOf(look, size, isWide)} {...attributes}>
      {name && <Icon name={name} isSmall={size === 'small'} />}
      {children}
      {of && <span class="sr"> {of}</span>}
    </button>
  )
}

/** A button with an icon alone; `label` names it and what it acts on. */
export function IconButton(
  props: Omit<ButtonProps, 'children' | 'look' | 'icon' | 'of'> & { readonly icon: IconName; readonly label: string },
) {
  const { icon, label, size, isBusy: _, isWide: __, onClick: ___, ...rest } = props
  const { isBusy, attributes } = usePress(props)
  return (
    <button
      type="button"
      {...rest}
      class={size === 'big' ? 'icon-btn big' : 'icon-btn'}
      aria-label={label}
      title={label}
      {...attributes}
    >
      <Icon name={isBusy ? 'refresh' : icon} />
    </button>
  )
}

/** What a row of a list is about: a press opens it. `of` tells it from others of the same text. */
export function RowButton(props: {
  readonly of: string
  readonly onClick: () => void
  readonly children: ComponentChildren
}) {
  return (
    <button type="button" class="row" onClick={props.onClick}>
      {props.children}
      <span class="sr"> {props.of}</span>
    </button>
  )
}

/** A link that looks like a button. */
export function LinkButton(props: {
  readonly href: string
  readonly look?: Look
  readonly size?: 'small' | 'big'
  readonly icon?: IconName
  readonly children: ComponentChildren
}) {
  return (
    <a class={classOf(props.look ?? 'plain', props.size, false)} href={props.href}>
      {props.icon && <Icon name={props.icon} />}
      {props.children}
    </a>
  )
}
