"""The addresses of accounts."""

from django.urls import URLPattern, URLResolver, include, path

from accounts.views import agents, home, people, person, settings, start

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("accounts.sign_in_urls")),
    path("", home.home, name="home"),
    path("demo-sign-in/", home.demo_sign_in, name="demo-sign-in"),
    path("start/", start.start, name="start"),
    path("start/residence/", start.confirm_residence, name="confirm-residence"),
    path("start/balance/", start.ask_top_up, name="ask-top-up"),
    path("start/guidance/", start.tick_guidance, name="tick-guidance"),
    path("settings/", settings.settings_page, name="settings"),
    path("settings/numbers/", people.people_page, name="people"),
    path("settings/numbers/add/", people.add_person, name="add-person"),
    path("settings/numbers/own/", people.add_own_number, name="add-own-number"),
    path("settings/numbers/owner/", people.pick_owner, name="pick-owner"),
    path("settings/numbers/<int:pk>/", person.person_page, name="person"),
    path("settings/numbers/<int:pk>/send-code/", person.send_code, name="send-code"),
    path("settings/numbers/<int:pk>/code/", person.check_code, name="check-code"),
    path("settings/numbers/<int:pk>/code/status/", person.code_status, name="code-status"),
    path("settings/numbers/<int:pk>/link/", person.hand_over_link, name="hand-over-link"),
    path("settings/numbers/<int:pk>/rename/", person.rename, name="rename-person"),
    path("settings/numbers/<int:pk>/remove/", person.remove, name="remove-person"),
    path("agents/", agents.agents_page, name="agents"),
    path("agents/<int:pk>/", agents.agent_page, name="agent"),
    path("agents/<int:pk>/switch/", agents.switch_agent, name="switch-agent"),
    path("agents/<int:pk>/revoke/", agents.revoke_agent, name="revoke-agent"),
]
