"""The addresses of the pages about alerts."""

from django.urls import URLPattern, URLResolver, path

from alerts.views import acknowledging, holder, listing, stopping, timeline

urlpatterns: list[URLPattern | URLResolver] = [
    path("alerts/", listing.alert_list, name="alerts"),
    path("alerts/<slug:code>/", timeline.alert_page, name="alert"),
    path("alerts/<slug:code>/acknowledge/", timeline.acknowledge, name="acknowledge"),
    path("alerts/<slug:code>/cancel/", timeline.cancel, name="cancel-alert"),
    path("start/test/", timeline.send_test, name="send-test"),
    path("a/<str:token>", acknowledging.ack_page, name="acknowledge-link"),
    path("join/<str:token>/", holder.join, name="join"),
    path("join/<str:token>/send-code/", holder.join_send_code, name="join-send-code"),
    path("join/<str:token>/code/", holder.join_check_code, name="join-code"),
    path("join/<str:token>/stop/", stopping.stop_here, name="stop-here"),
    path("stop/", stopping.stop, name="stop"),
    path("stop/code/", stopping.stop_code, name="stop-code"),
]
