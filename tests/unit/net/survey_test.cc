// SPDX-License-Identifier: Apache-2.0
#include "net/survey.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace weft::net {
namespace {

std::string words(Err e) {
  const char* text = last_error_text(e.cls);
  return text != nullptr ? text : "";
}

TEST(Survey, TakesOneAndSaysWhyNotTheOthers) {
  const Result<std::unique_ptr<Survey>> survey = Survey::make({});
  ASSERT_TRUE(survey) << words(survey.err);
  const Result<int> taken = survey.value->taken();
  ASSERT_TRUE(taken) << words(taken.err);
  for (const Offer& offer : survey.value->offers()) {
    EXPECT_NE(offer.verdict, "") << offer.provider;
    EXPECT_NE(offer.interface, "");
  }
  const auto all = survey.value->offers();
  EXPECT_EQ(
      std::count_if(all.begin(), all.end(), [](const Offer& o) { return o.verdict == "taken"; }),
      1);
  EXPECT_EQ(all[static_cast<std::size_t>(taken.value)].verdict, "taken");
}

TEST(Survey, ObeysProviderAndInterface) {
  for (const char* provider : {"tcp;ofi_rxm", "sockets"}) {
    const Result<std::unique_ptr<Survey>> survey = Survey::make({provider, "lo"});
    ASSERT_TRUE(survey) << words(survey.err);
    const Result<int> taken = survey.value->taken();
    if (!taken && std::string(provider) == "sockets") continue;  // libfabric 2 may be built without
    ASSERT_TRUE(taken) << words(taken.err);
    const Offer& offer = survey.value->offers()[static_cast<std::size_t>(taken.value)];
    EXPECT_EQ(offer.provider, provider);
    EXPECT_TRUE(offer.is_loopback);
    EXPECT_FALSE(offer.is_ipv6);
  }
}

TEST(Survey, AsksOneFirst) {
  const Result<std::unique_ptr<Survey>> one = Survey::make({}, "tcp;ofi_rxm");
  ASSERT_TRUE(one) << words(one.err);
  EXPECT_FALSE(one.value->offers().empty());
  for (const Offer& offer : one.value->offers()) EXPECT_EQ(offer.provider, "tcp;ofi_rxm");
  // One that offers nothing is no reason to have no network.
  const Result<std::unique_ptr<Survey>> other = Survey::make({}, "carrier-pigeon");
  ASSERT_TRUE(other) << words(other.err);
  EXPECT_TRUE(other.value->taken());
}

TEST(Survey, SaysWhatThereIsWhenNothingFits) {
  const Result<std::unique_ptr<Survey>> survey = Survey::make({"carrier-pigeon", ""});
  ASSERT_TRUE(survey);
  const Result<int> taken = survey.value->taken();
  ASSERT_FALSE(taken);
  EXPECT_NE(words(taken.err).find("WEFT_NET_PROVIDER=carrier-pigeon"), std::string::npos);
  EXPECT_NE(words(taken.err).find("tcp;ofi_rxm on lo"), std::string::npos) << words(taken.err);
}

}  // namespace
}  // namespace weft::net
