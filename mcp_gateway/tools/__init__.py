"""What each tool does: translate in, one domain call, translate out. One module per tool or family."""

from mcp_gateway.tools import cancel, sends, setup, start, status, workflow_list
from mcp_gateway.tools.base import Handler

HANDLERS: dict[str, Handler] = {
    "get_setup_status": Handler(setup.run, setup.summarise),
    "list_workflows": Handler(workflow_list.run, workflow_list.summarise),
    "send_whatsapp": Handler(sends.whatsapp, sends.summarise),
    "send_sms": Handler(sends.sms, sends.summarise),
    "make_call": Handler(sends.call, sends.summarise),
    "start_workflow": Handler(start.run, start.summarise),
    "get_alert_status": Handler(status.run, status.summarise),
    "cancel_alert": Handler(cancel.run, cancel.summarise),
}
